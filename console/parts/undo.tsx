import { Button, Group, Text } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import type { OperationInput } from "../api/operations.ts"
import { useAsyncAction } from "./use-async-action.ts"

/** Somebody may still think better of it for so long, ms. */
const SHOWN_MS = 10_000

/** The operation that takes something back. */
export interface UndoOperation {
  readonly operation: string
  readonly input: OperationInput
  /** What holds again. */
  readonly successMessage: string
}

/** Says what was done, and offers to take it back. @param act takes it back */
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
