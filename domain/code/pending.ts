/**
 * Pushes between their yes and what is found of them. Several may be on their way to one ref: git lets
 * one pass after the other, each from where the one before has left it, so that of each that arrived
 * all before it have.
 */
import type { CodeFact } from "./code-events.ts"

/** A ref as an accepted push moves it. */
export interface PendingUpdate {
  readonly refHash: string
  readonly old: string | null
  readonly new: string | null
  /** A later push began where this one ends: it has moved, though it does not stand there now. */
  hasMoved: boolean
}

/** A push that was accepted and has not ended. */
export interface Pending {
  readonly updates: readonly PendingUpdate[]
  readonly core: { readonly refHash: string; readonly tree: string | null } | null
}

/** A push that was accepted just now. */
export function pendingOf({ updates, core }: CodeFact<"PushAccepted">): Pending {
  const moving = updates.map(({ refHash, old, new: wanted }) => {
    return { refHash, old, new: wanted, hasMoved: false }
  })
  return { updates: moving, core }
}

/** Whether a ref has moved as wanted: it stands there, or others have moved it on from there. */
export function hasMoved(
  { refHash, new: wanted }: PendingUpdate,
  now: string | null,
  others: readonly Pending[],
): boolean {
  const ofTag = others.flatMap(({ updates }) => updates.filter((one) => one.refHash === refHash))
  // Back from where it stands, each step over a push that may have made it.
  const reached = new Set([now])
  for (const id of reached) {
    if (id === wanted) return true
    for (const one of ofTag) if (one.new === id) reached.add(one.old)
  }
  return false
}

/** Whether one of these wants a ref to stand so. */
export function wantsThis(pushes: readonly Pending[], tag: string, id: string | null): boolean {
  return pushes.some(({ updates }) => updates.some((one) => one.refHash === tag && one.new === id))
}

/** Notes of all pushes to a ref that end where one began that moved it: they have moved it before. */
export function markBefore(pushes: Iterable<Pending>, tag: string, began: string | null): void {
  for (const { updates } of pushes) {
    for (const one of updates) if (one.refHash === tag && one.new === began) one.hasMoved = true
  }
}
