/** Whether refs may be moved as a push wants them. */
import type { Push } from "../../adapters/git/port.ts"
import { deletesDefault, movedDefault, refFaults } from "../../domain/code/ref-rules.ts"
import type { RefusedPush } from "./refused-push.ts"

/** Why the names or the number of its refs refuse a push; null where they do not. */
export function refsRefused({ updates }: Push): RefusedPush | null {
  const faults = refFaults(updates)
  if (faults.length === 0) return null
  const places = faults.map(({ ref, says }) => (ref === null ? says : `${ref}: ${says}`))
  const why = "This push moves what cannot be pushed, so nothing of it was taken:"
  return { code: "refs", why, places, next: "Push branches and tags by other names." }
}

/** Why a push is refused that deletes the default branch or forces it; null where it does neither. */
export async function defaultRefused(
  push: Push,
  defaultBranch: string,
): Promise<RefusedPush | null> {
  const refused = { code: "default_branch" as const, places: [] }
  if (deletesDefault(push.updates, defaultBranch)) {
    const why = "The default branch cannot be deleted, so nothing of this push was taken."
    const next = "Make another branch the default first (repository default-branch)."
    return { ...refused, why, next }
  }
  const moved = movedDefault(push.updates, defaultBranch)
  if (moved === null || (await push.isAncestor(moved.old, moved.new))) return null
  const why = "The default branch cannot be forced, so nothing of this push was taken."
  return {
    ...refused,
    why,
    next: "Fetch, put your commits on top of what is there, and push again.",
  }
}
