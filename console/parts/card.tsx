import { Button, Checkbox, Group, Select, Stack, Text } from "@mantine/core"
import type { UseQueryResult } from "@tanstack/react-query"
import type { CompanyShown } from "../api/answers.ts"
import { useMay, useOperate, useOperation } from "../api/operations.ts"
import { Action } from "./action.tsx"
import { Fault } from "./fault.tsx"
import { FormDialog } from "./form-dialog.tsx"
import { Loaded } from "./loaded.tsx"
import { Section } from "./page.tsx"
import { Status } from "./status.tsx"
import { useAct } from "./use-act.ts"

type OnFile = CompanyShown["card"]

/** The company's card: how it stands, putting one on file, seeing that it is good. */
export function Card({ company }: { readonly company: UseQueryResult<CompanyShown> }) {
  return (
    <Section
      title="Card"
      says="Purchases of funds and months that are paid by card are taken from it."
    >
      <Loaded of={company} lines={1}>
        {({ card }) => <Shown card={card} />}
      </Loaded>
    </Section>
  )
}

function Shown({ card }: { readonly card: OnFile }) {
  return (
    <Stack gap="sm">
      <Group gap="md">
        <Text size="sm" component="div">
          <CardState card={card} />
        </Text>
        {card === null ? null : (
          <Text size="sm" c="dimmed">
            {card.verified
              ? "Clones and publishing may cost money."
              : "Clones and publishing need a verified card."}
          </Text>
        )}
      </Group>
      <Group gap="xs">
        <PutOnFile card={card} />
        {card === null || card.verified ? null : (
          <Action
            operation="card-verify"
            input={{}}
            label="Verify"
            says="A sum is held on the card for a moment and let go at once. Nothing is charged."
            done="The processor was asked: how the card stands is shown."
          />
        )}
        {card === null ? null : (
          <Action
            operation="card-remove"
            input={{}}
            label="Remove"
            isDangerous
            says="Nothing can be paid from it any more. Another one can be put on file."
            done="The card is off the account."
          />
        )}
      </Group>
    </Stack>
  )
}

function CardState({ card }: { readonly card: OnFile }) {
  if (card === null) return <Status tone="quiet">No card on file</Status>
  if (card.failing) return <Status tone="bad">Payments by it fail</Status>
  return card.verified ? (
    <Status tone="good">On file, verified</Status>
  ) : (
    <Status tone="busy">On file, not verified</Status>
  )
}

/** Where the payment processor has a page of its own, cards are entered there; else here. */
function PutOnFile({ card }: { readonly card: OnFile }) {
  const hasPage = useMay("card-page")
  return hasPage ? <AtProcessor /> : <TestCard card={card} />
}

function AtProcessor() {
  const operate = useOperate()
  const { act, isBusy, error } = useAct(async () => {
    const { url } = await operate<{ readonly url: string }>("card-page")
    const { protocol, href } = new URL(url)
    if (!/^https?:$/.test(protocol)) throw new Error(`No page can be at ${href}.`)
    window.location.assign(href)
  })
  return (
    <>
      <Button variant="default" loading={isBusy} onClick={() => void act()}>
        Change the card at the processor
      </Button>
      <Action
        operation="card-look"
        input={{}}
        label="See what is on file"
        says="The processor is asked which card it has. A card that is new has to be verified."
        done="The processor was asked: how the card stands is shown."
      />
      {error === null ? null : <Fault error={error} />}
    </>
  )
}

type Values = {
  readonly verified: boolean
  readonly failing: boolean
  readonly outcome: string | null
}

/** The card of the built-in processor: no money moves, and it does what it is told. */
function TestCard({ card }: { readonly card: OnFile }) {
  const outcomes = useOperation("card-set")?.input.properties?.["outcome"]?.enum ?? []
  return (
    <FormDialog<Values, unknown>
      operation="card-set"
      label={card === null ? "Put a card on file" : "Change the card"}
      says="This installation has the built-in test processor: no money moves, and payments come to what is chosen here."
      initial={{
        verified: card?.verified ?? false,
        failing: card?.failing ?? false,
        outcome: null,
      }}
      inputOf={({ outcome, ...said }) => ({ ...said, outcome: outcome ?? undefined })}
      fields={(form) => (
        <>
          <Checkbox
            label="It is verified"
            {...form.getInputProps("verified", { type: "checkbox" })}
          />
          <Checkbox
            label="Its payments fail"
            {...form.getInputProps("failing", { type: "checkbox" })}
          />
          <Select
            label="What payments come to"
            placeholder="Paid, unless they fail"
            clearable
            clearButtonProps={{ "aria-label": "As it is without" }}
            data={outcomes.map((value) => ({ value, label: outcomeText(value) }))}
            {...form.getInputProps("outcome")}
          />
        </>
      )}
      does="Put it on file"
      done="The card is on file."
    />
  )
}

function outcomeText(outcome: string): string {
  const words = outcome.replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}
