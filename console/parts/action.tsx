import { Button, Group, Stack, Text, TextInput } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { ReactNode } from "react"
import type { Input, Said } from "../api/operations.ts"
import { useCommand, useOperate, useOperation } from "../api/operations.ts"
import { CopyAs } from "./copy-as.tsx"
import type { DialogVariant } from "./dialog-button.tsx"
import { DialogButton } from "./dialog-button.tsx"
import { Fault } from "./fault.tsx"
import type { Undoing } from "./undo.tsx"
import { showUndoable } from "./undo.tsx"
import { useAct } from "./use-act.ts"

interface ActionProps {
  /** The operation, as paths have it. */
  readonly operation: string
  readonly input: Input
  /** On the button. */
  readonly label: string
  /** What it will do, before it is done. */
  readonly says: ReactNode
  /** What was done, after. */
  readonly done: string
  readonly isDangerous?: boolean
  /** What is typed where it cannot be undone: its name as people know it. */
  readonly typed?: string
  /** Said where something is typed; default that it cannot be undone. */
  readonly warns?: string
  readonly variant?: DialogVariant
  /** It is about the reader themselves: those may who may do it for themselves alone. */
  readonly isOwn?: boolean
  readonly onDone?: (answer: unknown) => void
  /** What takes it back, where something does. */
  readonly undo?: Undoing
  /** More that is asked before it is done. */
  readonly children?: ReactNode
}

/** A button that says what it will do, asks, does it, and says what it did. Not shown to who may not. */
export function Action(props: ActionProps) {
  const { operation: name, label, isDangerous, variant, isOwn = false } = props
  const operation = useOperation(name)
  if (operation === null || operation.may === "no" || (operation.may === "own" && !isOwn))
    return null
  return (
    <DialogButton {...{ label, variant, isDangerous }}>
      {(close) => <Confirm {...props} onClose={close} />}
    </DialogButton>
  )
}

function Confirm(props: ActionProps & { readonly onClose: () => void }) {
  const { operation: name, input, label, says, done, isDangerous, typed, onDone, onClose } = props
  const { warns = "This cannot be undone", undo } = props
  const operation = useOperation(name)
  const operate = useOperate()
  const commandOf = useCommand()
  const [word, setWord] = useState("")
  const [reason, setReason] = useState("")
  const { act, isBusy, error } = useAct(async (how: Said) => {
    const answer = await operate<unknown>(name, input, how)
    if (undo === undefined) notifications.show({ message: done })
    else showUndoable(done, undo, () => operate(undo.operation, undo.input))
    onClose()
    onDone?.(answer)
  })
  if (operation === null) return null
  const { irreversible, needsReason } = operation
  const field = irreversible === null ? null : String(input[irreversible.field] ?? "")
  const asksFor = typed ?? field
  const said: Said = {
    ...(needsReason ? { reason } : {}),
    ...(field === null ? {} : { confirm: field }),
  }
  const isReady = (asksFor === null || word === asksFor) && (!needsReason || reason.trim() !== "")
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        if (isReady) void act(said)
      }}
    >
      <Text size="sm">{says}</Text>
      {props.children}
      {asksFor === null ? null : (
        <TextInput
          label={`${warns}: type ${asksFor}`}
          value={word}
          autoComplete="off"
          onChange={(event) => setWord(event.currentTarget.value)}
        />
      )}
      {needsReason ? (
        <TextInput
          label="Reason"
          description="It is recorded with what is done."
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      ) : null}
      {error === null ? null : <Fault error={error} />}
      <Group justify="space-between">
        <CopyAs command={commandOf(operation, input, said)} />
        <Button
          type="submit"
          loading={isBusy}
          disabled={!isReady}
          {...(isDangerous === true ? { color: "red" } : {})}
        >
          {label}
        </Button>
      </Group>
    </Stack>
  )
}
