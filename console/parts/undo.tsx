import { Button, Group, Text } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import type { Input } from "../api/operations.ts"
import { useAct } from "./use-act.ts"

/** Somebody may still think better of it for so long, ms. */
const SHOWN_MS = 10_000

/** The operation that takes something back. */
export interface Undoing {
  readonly operation: string
  readonly input: Input
  /** What holds again. */
  readonly done: string
}

/** Says what was done, and offers to take it back. @param act takes it back */
export function showUndoable(says: string, undoing: Undoing, act: () => Promise<unknown>): void {
  const id = `undo-${crypto.randomUUID()}`
  const back = async () => {
    await act()
    notifications.hide(id)
    notifications.show({ message: undoing.done })
  }
  const message = <Undoable says={says} back={back} />
  notifications.show({ id, message, autoClose: SHOWN_MS })
}

function Undoable({ says, back }: { readonly says: string; readonly back: () => Promise<void> }) {
  const { act, isBusy, error } = useAct(back)
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">{error === null ? says : error.message}</Text>
      <Button size="compact-sm" variant="subtle" loading={isBusy} onClick={() => void act()}>
        Undo
      </Button>
    </Group>
  )
}
