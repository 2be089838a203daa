import { Button, Checkbox, Group, Select, Stack, Text } from "@mantine/core"
import type { UseQueryResult } from "@tanstack/react-query"
import type { CompanyDetails } from "../api/answers.ts"
import { useCanRun, useCallOperation, useOperation } from "../api/operations.ts"
import { ActionButton } from "./action-button.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import { OperationFormButton } from "./operation-form-button.tsx"
import { QueryView } from "./query-view.tsx"
import { Section } from "./page-layout.tsx"
import { StatusBadge } from "./status-badge.tsx"
import { useAsyncAction } from "./use-async-action.ts"

type CardOnFile = CompanyDetails["card"]

/** The company's card: its state, and the actions to add and verify it. */
export function CardSection({ company }: { readonly company: UseQueryResult<CompanyDetails> }) {
  return (
    <Section title="Card" description="Charged for purchases of funds and for months paid by card.">
      <QueryView query={company} lines={1}>
        {({ card }) => <CardContent card={card} />}
      </QueryView>
    </Section>
  )
}

function CardContent({ card }: { readonly card: CardOnFile }) {
  return (
    <Stack gap="sm">
      <Group gap="md">
        <Text size="sm" component="div">
          <CardState card={card} />
        </Text>
        {card === null ? null : (
          <Text size="sm" c="dimmed">
            {card.verified
              ? "Clones and publishing are enabled."
              : "Clones and publishing need a verified card."}
          </Text>
        )}
      </Group>
      <Group gap="xs">
        <AddCardButton card={card} />
        {card === null || card.verified ? null : (
          <ActionButton
            operation="card-verify"
            input={{}}
            label="Verify"
            description="Holds an amount on the card and releases it immediately. Nothing is charged."
            successMessage="The card's status was updated."
          />
        )}
        {card === null ? null : (
          <ActionButton
            operation="card-remove"
            input={{}}
            label="Remove"
            isDangerous
            description="The card can no longer be charged. You can add another card."
            successMessage="The card was removed."
          />
        )}
      </Group>
    </Stack>
  )
}

function CardState({ card }: { readonly card: CardOnFile }) {
  if (card === null) return <StatusBadge tone="quiet">No card on file</StatusBadge>
  if (card.failing) return <StatusBadge tone="bad">Payments fail</StatusBadge>
  return card.verified ? (
    <StatusBadge tone="good">On file, verified</StatusBadge>
  ) : (
    <StatusBadge tone="busy">On file, not verified</StatusBadge>
  )
}

/** Adds a card: on the payment processor's page if it has one, else here. */
export function AddCardButton({ card }: { readonly card: CardOnFile }) {
  const hasPage = useCanRun("card-page")
  return hasPage ? <AddCardAtProcessor /> : <TestCard card={card} />
}

function AddCardAtProcessor() {
  const operate = useCallOperation()
  const { run, isBusy, error } = useAsyncAction(async () => {
    const { url } = await operate<{ readonly url: string }>("card-page")
    const { protocol, href } = new URL(url)
    if (!/^https?:$/.test(protocol))
      throw new Error(`The payment processor returned an invalid address: ${href}`)
    window.location.assign(href)
  })
  return (
    <>
      <Button variant="default" loading={isBusy} onClick={() => void run()}>
        Change the card on the processor's page
      </Button>
      <ActionButton
        operation="card-refresh"
        input={{}}
        label="Update the card"
        description="Reads the card that the processor has on file. A new card must be verified."
        successMessage="The card's status was updated."
      />
      {error === null ? null : <ErrorAlert error={error} />}
    </>
  )
}

type Values = {
  readonly verified: boolean
  readonly failing: boolean
  readonly outcome: string | null
}

/** The card of the simulated processor: no money moves, and the form chooses the outcome of payments. */
function TestCard({ card }: { readonly card: CardOnFile }) {
  const outcomes = useOperation("card-set")?.input.properties?.["outcome"]?.enum ?? []
  return (
    <OperationFormButton<Values, unknown>
      operation="card-set"
      label={card === null ? "Add a card" : "Change the card"}
      description="This installation uses the simulated payment processor: no money moves, and you choose the outcome of payments."
      initialValues={{
        verified: card?.verified ?? false,
        failing: card?.failing ?? false,
        outcome: null,
      }}
      inputOf={({ outcome, ...flags }) => ({ ...flags, outcome: outcome ?? undefined })}
      fields={(form) => (
        <>
          <Checkbox
            label="The card is verified"
            {...form.getInputProps("verified", { type: "checkbox" })}
          />
          <Checkbox
            label="Its payments fail"
            {...form.getInputProps("failing", { type: "checkbox" })}
          />
          <Select
            label="Outcome of payments"
            placeholder="Paid, or failed if payments fail"
            clearable
            clearButtonProps={{ "aria-label": "Clear the outcome" }}
            data={outcomes.map((value) => ({ value, label: outcomeText(value) }))}
            {...form.getInputProps("outcome")}
          />
        </>
      )}
      submitLabel="Save the card"
      successMessage="The card was saved."
    />
  )
}

function outcomeText(outcome: string): string {
  const words = outcome.replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}
