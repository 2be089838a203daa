import { Button, Group, Text } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import type { OperationInput } from "../api/operations.ts"
import { useAsyncAction } from "./use-async-action.ts"

/** How long undo is offered, ms. */
const SHOWN_MS = 10_000

/** The operation that undoes another. */
export interface UndoOperation {
  readonly operation: string
  readonly input: OperationInput
  readonly successMessage: string
}

/** Shows the result of an operation, with a button to undo it. @param act undoes it */
export function showUndoable(
  successMessage: string,
  undoing: UndoOperation,
  act: () => Promise<unknown>,
): void {
  const id = `undo-${crypto.randomUUID()}`
  const back = async () => {
    await act()
    notifications.hide(id)
    notifications.show({ message: undoing.successMessage })
  }
  const message = <Undoable successMessage={successMessage} back={back} />
  notifications.show({ id, message, autoClose: SHOWN_MS })
}

function Undoable({
  successMessage,
  back,
}: {
  readonly successMessage: string
  readonly back: () => Promise<void>
}) {
  const { run, isBusy, error } = useAsyncAction(back)
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">{error === null ? successMessage : error.message}</Text>
      <Button size="compact-sm" variant="subtle" loading={isBusy} onClick={() => void run()}>
        Undo
      </Button>
    </Group>
  )
}
