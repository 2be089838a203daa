import { Button, Group, Text } from "@mantine/core"
import { useFilters } from "./filters.ts"

interface PagerProps {
  /** So many are shown. */
  readonly count: number
  /** Where the next page begins; null for the last one. */
  readonly next: string | number | null
  readonly order?: PageOrder
}

/** Whether a list begins with its newest and goes on `before` a place, or with its first and goes on `after` one. */
export type PageOrder = "before" | "after"

const WORDS = {
  before: { here: "The newest", beyond: "Earlier ones", first: "Newest", go: "Earlier" },
  after: { here: "The first", beyond: "Later ones", first: "From the first", go: "Later" },
} as const

/** Pages of a list, by the cursor in the address; nothing where there is but one. */
export function Pager({ count, next, order = "before" }: PagerProps) {
  const [filters, setFilters] = useFilters()
  const words = WORDS[order]
  const isFirst = filters[order] === undefined
  if (isFirst && next === null) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {isFirst ? words.here : words.beyond}: {count}
      </Text>
      <Group gap="xs">
        <Button
          variant="default"
          size="xs"
          disabled={isFirst}
          onClick={() => setFilters({ [order]: undefined })}
        >
          {words.first}
        </Button>
        <Button
          variant="default"
          size="xs"
          disabled={next === null}
          onClick={() => setFilters({ [order]: String(next) })}
        >
          {words.go}
        </Button>
      </Group>
    </Group>
  )
}
