import { Button, Group, Stack, Text, TextInput } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import { answerOf, useApi } from "../api/company.ts"
import { asked } from "../api/queries.ts"
import { Refused } from "../api/refused.ts"
import { useMe } from "../api/session.ts"
import { DialogButton } from "./dialog-button.tsx"
import { Fault } from "./fault.tsx"
import { dollarsText } from "./money.tsx"
import { useAct } from "./use-act.ts"

const LEAST = 5
const MOST = 5_000
const MICROS = 1_000_000

/** A button with which an owner adds funds from the company's card. */
export function AddFunds() {
  const { role } = useMe()
  if (role !== "owner") return null
  return (
    <DialogButton label="Add funds" variant="filled">
      {(close) => <Purchase onDone={close} />}
    </DialogButton>
  )
}

function Purchase({ onDone }: { readonly onDone: () => void }) {
  const api = useApi()
  const { companyId } = useMe()
  const [dollars, setDollars] = useState("")
  // Of one form: pressed twice, or sent again after a cut line, it is one purchase.
  const [attempt, setAttempt] = useState(() => crypto.randomUUID())
  const fault = amountFault(dollars)
  const purchase = () =>
    answerOf(
      api.POST("/api/v1/credits", {
        params: { header: { "Idempotency-Key": attempt } },
        body: { amount: Number(dollars) },
      }),
    )
  const { act, isBusy, error } = useAct(async () => {
    const { status, amount } = await purchase().catch((thrown: unknown) => {
      // What the processor refused is over: the next attempt is a purchase of its own.
      if (thrown instanceof Refused && thrown.status === 402) setAttempt(crypto.randomUUID())
      throw thrown
    })
    const sum = dollarsText(amount * MICROS)
    const message = status === "paid" ? `${sum} were added.` : `The payment of ${sum} is under way.`
    notifications.show({ message })
    await asked.invalidateQueries({ queryKey: [companyId] })
    onDone()
  })
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        if (fault === null) void act()
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
      {error === null ? null : <Fault error={error} />}
      <Group justify="flex-end">
        <Button type="submit" loading={isBusy} disabled={fault !== null}>
          Add funds
        </Button>
      </Group>
    </Stack>
  )
}

function amountFault(text: string): string | null {
  const dollars = Number(text)
  const isAmount = /^\d{1,4}(\.\d{1,2})?$/.test(text.trim()) && dollars >= LEAST && dollars <= MOST
  return isAmount ? null : `From $${LEAST} to $${MOST.toLocaleString("en-US")}, in whole cents`
}
