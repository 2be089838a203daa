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
  readonly operation: string
  readonly input: OperationInput
  readonly label: string
  readonly description: ReactNode
  readonly successMessage: string
  readonly isDangerous?: boolean
  /** The text to type before an irreversible operation. */
  readonly confirmationText?: string
  /** Shown above that text; by default that the operation cannot be undone. */
  readonly warning?: string
  readonly variant?: DialogVariant
  /** Whether it concerns the reader, who may do it for themselves only. */
  readonly isOwn?: boolean
  readonly onDone?: (answer: unknown) => void
  /** The operation that undoes it, if there is one. */
  readonly undo?: UndoOperation
  readonly children?: ReactNode
}

/** A button that explains an operation, asks for confirmation, and runs it. Hidden from people who may not run it. */
export function ActionButton(props: ActionProps) {
  const { operation: name, label, isDangerous, variant, isOwn = false } = props
  const operation = useOperation(name)
  if (operation === null || operation.may === "no" || (operation.may === "own" && !isOwn))
    return null
  return (
    <DialogButton label={label} variant={variant} isDangerous={isDangerous}>
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
  const textToType = confirmationText ?? field
  const confirmation: ChangeConfirmation = {
    ...(needsReason ? { reason } : {}),
    ...(field === null ? {} : { confirm: field }),
  }
  const isReady =
    (textToType === null || word === textToType) && (!needsReason || reason.trim() !== "")
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        if (isReady) void run(confirmation)
      }}
    >
      <Text size="sm">{description}</Text>
      {props.children}
      {textToType === null ? null : (
        <TextInput
          label={`${warning}. Type ${textToType} to confirm.`}
          value={word}
          autoComplete="off"
          onChange={(event) => setWord(event.currentTarget.value)}
        />
      )}
      {needsReason ? (
        <TextInput
          label="Reason"
          description="Recorded with the change."
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      ) : null}
      {error === null ? null : <ErrorAlert error={error} />}
      <Group justify="space-between">
        <CopyCommandButton command={commandOf(operation, input, confirmation)} />
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
