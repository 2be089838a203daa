import { Button, Group, Stack, Text, TextInput } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { ReactNode } from "react"
import type { OperationInput, ChangeConfirmation } from "../api/operations.ts"
import { useCommand, useCallOperation, useOperation } from "../api/operations.ts"
import { CopyCommandButton } from "./copy-command.tsx"
import type { DialogVariant } from "./dialog-button.tsx"
import { DialogButton } from "./dialog-button.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import type { UndoOperation } from "./undo.tsx"
import { showUndoable } from "./undo.tsx"
import { useAsyncAction } from "./use-async-action.ts"

interface ActionProps {
  /** The operation, as paths have it. */
  readonly operation: string
  readonly input: OperationInput
  /** On the button. */
  readonly label: string
  /** What it will do, before it is done. */
  readonly description: ReactNode
  /** What was done, after. */
  readonly successMessage: string
  readonly isDangerous?: boolean
  /** What is typed where it cannot be undone: its name as people know it. */
  readonly confirmationText?: string
  /** Said where something is typed; default that it cannot be undone. */
  readonly warning?: string
  readonly variant?: DialogVariant
  /** It is about the reader themselves: those may who may do it for themselves alone. */
  readonly isOwn?: boolean
  readonly onDone?: (answer: unknown) => void
  /** What takes it back, where something does. */
  readonly undo?: UndoOperation
  /** More that is asked before it is done. */
  readonly children?: ReactNode
}

/** A button that says what it will do, asks, does it, and says what it did. Not shown to who may not. */
export function ActionButton(props: ActionProps) {
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
  const {
    operation: name,
    input,
    label,
    description,
    successMessage,
    isDangerous,
    confirmationText,
    onDone,
    onClose,
  } = props
  const { warning = "This cannot be undone", undo } = props
  const operation = useOperation(name)
  const operate = useCallOperation()
  const commandOf = useCommand()
  const [word, setWord] = useState("")
  const [reason, setReason] = useState("")
  const { run, isBusy, error } = useAsyncAction(async (how: ChangeConfirmation) => {
    const answer = await operate<unknown>(name, input, how)
    if (undo === undefined) notifications.show({ message: successMessage })
    else showUndoable(successMessage, undo, () => operate(undo.operation, undo.input))
    onClose()
    onDone?.(answer)
  })
  if (operation === null) return null
  const { irreversible, needsReason } = operation
  const field = irreversible === null ? null : String(input[irreversible.field] ?? "")
  const asksFor = confirmationText ?? field
  const said: ChangeConfirmation = {
    ...(needsReason ? { reason } : {}),
    ...(field === null ? {} : { confirm: field }),
  }
  const isReady = (asksFor === null || word === asksFor) && (!needsReason || reason.trim() !== "")
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        if (isReady) void run(said)
      }}
    >
      <Text size="sm">{description}</Text>
      {props.children}
      {asksFor === null ? null : (
        <TextInput
          label={`${warning}: type ${asksFor}`}
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
      {error === null ? null : <ErrorAlert error={error} />}
      <Group justify="space-between">
        <CopyCommandButton command={commandOf(operation, input, said)} />
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
