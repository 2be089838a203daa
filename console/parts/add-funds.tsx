import { Button, Group, Stack, Text, TextInput } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { CompanyDetails } from "../api/answers.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useOperationQuery } from "../api/operations.ts"
import { queryClient } from "../api/query-client.ts"
import { RequestError } from "../api/request-error.ts"
import { useMe } from "../api/session.ts"
import { AddCardButton } from "./card-section.tsx"
import { DialogButton } from "./dialog-button.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import { useFilters } from "./filters.ts"
import { dollarsFault } from "./operation-form-button.tsx"
import { QueryView } from "./query-view.tsx"
import { dollarsText } from "./money.tsx"
import { useAsyncAction } from "./use-async-action.ts"

const MICROS = 1_000_000

/** A button with which an owner adds funds from the company's card; `?add=funds` in the address opens its dialog. */
export function AddFundsButton() {
  const { role } = useMe()
  const [{ add }, setFilters] = useFilters()
  if (role !== "owner") return null
  const isLinked = add === "funds"
  return (
    <DialogButton
      {...{ label: "Add funds", variant: "filled", isLinked }}
      onClosed={() => {
        if (isLinked) setFilters({ add: undefined })
      }}
    >
      {(close) => <FromCard onDone={close} />}
    </DialogButton>
  )
}

/** Funds are bought with a card: where there is none, that comes first. */
function FromCard({ onDone }: { readonly onDone: () => void }) {
  const company = useOperationQuery<CompanyDetails>("company-show")
  return (
    <QueryView query={company} lines={2}>
      {({ card }) => (card === null ? <NoCard /> : <Purchase onDone={onDone} />)}
    </QueryView>
  )
}

function NoCard() {
  return (
    <Stack align="flex-start">
      <Text size="sm">
        The company has no card on file, and funds are bought with one: put one on file first.
      </Text>
      <AddCardButton card={null} />
    </Stack>
  )
}

function Purchase({ onDone }: { readonly onDone: () => void }) {
  const api = useApi()
  const { companyId } = useMe()
  const [dollars, setDollars] = useState("")
  // Of one form: pressed twice, or sent again after a cut line, it is one purchase.
  const [attempt, setAttempt] = useState(() => crypto.randomUUID())
  const fault = dollarsFault(dollars)
  const purchase = () =>
    responseData(
      api.POST("/api/v1/credits", {
        params: { header: { "Idempotency-Key": attempt } },
        body: { amount: Number(dollars) },
      }),
    )
  const { run, isBusy, error } = useAsyncAction(async () => {
    const { status, amount } = await purchase().catch((thrown: unknown) => {
      // What the processor refused is over: the next attempt is a purchase of its own.
      if (thrown instanceof RequestError && thrown.status === 402) setAttempt(crypto.randomUUID())
      throw thrown
    })
    const sum = dollarsText(amount * MICROS)
    const message = status === "paid" ? `${sum} were added.` : `The payment of ${sum} is under way.`
    notifications.show({ message })
    await queryClient.invalidateQueries({ queryKey: [companyId] })
    onDone()
  })
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        if (fault === null) void run()
      }}
    >
      <Text size="sm">The company's card on file is charged at once.</Text>
      <TextInput
        label="Dollars"
        inputMode="decimal"
        autoComplete="off"
        value={dollars}
        error={dollars === "" ? null : fault}
        onChange={(event) => {
          setDollars(event.currentTarget.value)
          setAttempt(crypto.randomUUID())
        }}
      />
      {error === null ? null : <ErrorAlert error={error} />}
      <Group justify="flex-end">
        <Button type="submit" loading={isBusy} disabled={fault !== null}>
          Add funds
        </Button>
      </Group>
    </Stack>
  )
}
