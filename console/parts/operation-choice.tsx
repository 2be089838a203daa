import { Accordion, Checkbox, Group, Stack, Text } from "@mantine/core"
import type { PriceList } from "../api/answers.ts"
import { groupOperations, chargedItemsOf } from "../api/key-operations.ts"
import { itemText } from "../api/names.ts"
import { useOperationQuery, useCanRun, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { dollarsText, decimalsOf } from "./money.tsx"

interface OperationChoiceProps {
  readonly chosen: readonly string[]
  readonly onChoose: (chosen: readonly string[]) => void
  readonly error?: string | null
}

/** The operations that the reader can grant a key: all, or their own. */
function useKeyOperations(): readonly string[] {
  const field = useOperation("key-create")?.input.properties?.["operations"]
  const { operations } = useMe()
  const canGrantAll = useCanRun("key-create")
  const all = field?.items?.suggests ?? []
  return canGrantAll ? all : all.filter((name) => operations.includes(name))
}

/** A choice of operations in groups, with their prices. */
export function OperationChoice({ chosen, onChoose, error }: OperationChoiceProps) {
  const may = useKeyOperations()
  // Operations that the key already has can be removed, even if they cannot be granted.
  const all = [...may, ...chosen.filter((name) => !may.includes(name))]
  const set = (names: readonly string[], isOn: boolean) => {
    const others = chosen.filter((name) => !names.includes(name))
    onChoose(isOn ? [...others, ...names] : others)
  }
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" fw={500}>
          Operations
        </Text>
        <Checkbox
          size="xs"
          label="Everything"
          checked={all.length > 0 && chosen.length === all.length}
          indeterminate={chosen.length > 0 && chosen.length < all.length}
          onChange={(event) => onChoose(event.currentTarget.checked ? may : [])}
        />
      </Group>
      {error === undefined || error === null ? null : (
        <Text size="xs" c="var(--mantine-color-error)">
          {error}
        </Text>
      )}
      <Accordion multiple variant="contained" chevronPosition="left" transitionDuration={0}>
        {groupOperations(all).map(({ title, operations }) => {
          const count = operations.filter((name) => chosen.includes(name)).length
          return (
            <Accordion.Item key={title} value={title}>
              <Accordion.Control py={0}>
                <Group justify="space-between" pr="sm">
                  <Text size="sm">{title}</Text>
                  <Text size="xs" c="dimmed">
                    {count} of {operations.length}
                  </Text>
                </Group>
              </Accordion.Control>
              <Accordion.Panel>
                <Stack gap={6}>
                  <Checkbox
                    size="xs"
                    label={`All of ${title}`}
                    checked={count === operations.length}
                    indeterminate={count > 0 && count < operations.length}
                    onChange={(event) => set(operations, event.currentTarget.checked)}
                  />
                  {operations.map((name) => (
                    <Checkbox
                      key={name}
                      size="xs"
                      ml="md"
                      label={<OperationLabel name={name} />}
                      checked={chosen.includes(name)}
                      onChange={(event) => set([name], event.currentTarget.checked)}
                    />
                  ))}
                </Stack>
              </Accordion.Panel>
            </Accordion.Item>
          )
        })}
      </Accordion>
    </Stack>
  )
}

function OperationLabel({ name }: { readonly name: string }) {
  const prices = useOperationQuery<PriceList>("price-list").data?.prices ?? []
  const priced = prices.filter(({ item }) => chargedItemsOf(name).includes(item))
  const descriptions = priced.map(({ item, unitPriceMicros }) => {
    const price = dollarsText(unitPriceMicros, decimalsOf([unitPriceMicros]))
    return `${price} each ${itemText(item).toLowerCase()}`
  })
  return (
    <>
      {name}{" "}
      <Text span size="xs" c="dimmed">
        {descriptions.join(", ")}
      </Text>
    </>
  )
}
