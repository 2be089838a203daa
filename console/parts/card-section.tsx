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

/** The company's card: how it stands, putting one on file, seeing that it is good. */
export function CardSection({ company }: { readonly company: UseQueryResult<CompanyDetails> }) {
  return (
    <Section
      title="Card"
      description="Purchases of funds and months that are paid by card are taken from it."
    >
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
              ? "Clones and publishing may cost money."
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
            description="A sum is held on the card for a moment and let go at once. Nothing is charged."
            successMessage="The processor was asked: how the card stands is shown."
          />
        )}
        {card === null ? null : (
          <ActionButton
            operation="card-remove"
            input={{}}
            label="Remove"
            isDangerous
            description="Nothing can be paid from it any more. Another one can be put on file."
            successMessage="The card is off the account."
          />
        )}
      </Group>
    </Stack>
  )
}

function CardState({ card }: { readonly card: CardOnFile }) {
  if (card === null) return <StatusBadge tone="quiet">No card on file</StatusBadge>
  if (card.failing) return <StatusBadge tone="bad">Payments by it fail</StatusBadge>
  return card.verified ? (
    <StatusBadge tone="good">On file, verified</StatusBadge>
  ) : (
    <StatusBadge tone="busy">On file, not verified</StatusBadge>
  )
}

/** Where the payment processor has a page of its own, cards are entered there; else here. */
export function AddCardButton({ card }: { readonly card: CardOnFile }) {
  const hasPage = useCanRun("card-page")
  return hasPage ? <AddCardAtProcessor /> : <TestCard card={card} />
}

function AddCardAtProcessor() {
  const operate = useCallOperation()
  const { run, isBusy, error } = useAsyncAction(async () => {
    const { url } = await operate<{ readonly url: string }>("card-page")
    const { protocol, href } = new URL(url)
    if (!/^https?:$/.test(protocol)) throw new Error(`No page can be at ${href}.`)
    window.location.assign(href)
  })
  return (
    <>
      <Button variant="default" loading={isBusy} onClick={() => void run()}>
        Change the card at the processor
      </Button>
      <ActionButton
        operation="card-look"
        input={{}}
        label="See what is on file"
        description="The processor is asked which card it has. A card that is new has to be verified."
        successMessage="The processor was asked: how the card stands is shown."
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

/** The card of the built-in processor: no money moves, and it does what it is told. */
function TestCard({ card }: { readonly card: CardOnFile }) {
  const outcomes = useOperation("card-set")?.input.properties?.["outcome"]?.enum ?? []
  return (
    <OperationFormButton<Values, unknown>
      operation="card-set"
      label={card === null ? "Put a card on file" : "Change the card"}
      description="This installation has the built-in test processor: no money moves, and payments come to what is chosen here."
      initialValues={{
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
      submitLabel="Put it on file"
      successMessage="The card is on file."
    />
  )
}

function outcomeText(outcome: string): string {
  const words = outcome.replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}
