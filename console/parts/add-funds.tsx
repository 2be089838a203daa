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

/** The button for owners to add funds from the company's card; `?add=funds` in the address opens its dialog. */
export function AddFundsButton() {
  const { role } = useMe()
  const [{ add }, setFilters] = useFilters()
  if (role !== "owner") return null
  const isLinked = add === "funds"
  return (
    <DialogButton
      label="Add funds"
      variant="filled"
      isLinked={isLinked}
      onClosed={() => {
        if (isLinked) setFilters({ add: undefined })
      }}
    >
      {(close) => <FromCard onDone={close} />}
    </DialogButton>
  )
}

/** Asks for a card first if there is none, because funds are bought with a card. */
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
        The company has no card on file. Add a card first, then buy funds with it.
      </Text>
      <AddCardButton card={null} />
    </Stack>
  )
}

function Purchase({ onDone }: { readonly onDone: () => void }) {
  const api = useApi()
  const { companyId } = useMe()
  const [dollars, setDollars] = useState("")
  // One key per form: a second click, or a retry after a lost connection, is the same purchase.
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
      // A rejected payment is final: the next attempt is a new purchase.
      if (thrown instanceof RequestError && thrown.status === 402) setAttempt(crypto.randomUUID())
      throw thrown
    })
    const sum = dollarsText(amount * MICROS)
    const message =
      status === "paid" ? `${sum} were added.` : `The payment of ${sum} is in progress.`
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
      <Text size="sm">The company's card on file is charged immediately.</Text>
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
