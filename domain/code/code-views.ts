/** Read-only views of a company's code. */
import type { FoundRef, PushId } from "./code-events.ts"
import type { CodeState } from "./code.ts"

/** Whether the company has a repository. */
export function hasRepository({ isThere }: CodeState): boolean {
  return isThere
}

/** Counts the starts and ends of scrubs, for `AcceptPush`. */
export function scrubCountOf({ scrubs }: CodeState): number {
  return scrubs
}

/** Returns the tree of the protected core on the default branch; null if there is none or it is unknown. */
export function coreTreeOf({ core }: CodeState): string | null {
  return core?.tree ?? null
}

/** Returns the keyed hash of the default branch's name; null before a push has moved one. */
export function defaultBranchHashOf({ core }: CodeState): string | null {
  return core?.refHash ?? null
}

/** Whether a text with this fingerprint may be pushed. */
export function isSecretAllowed({ allowed }: CodeState, fingerprint: string): boolean {
  return allowed.has(fingerprint)
}

/** The refs according to the events, for comparison with the repository. */
export interface KnownRefs {
  /** For `ReconcileRefs`. */
  readonly readVersion: number
  readonly refs: ReadonlyMap<string, string>
  /** The ref hashes that the push moves; null if it has ended or none was given. */
  readonly updatedRefHashes: readonly string[] | null
}

/** Returns the refs according to the events. */
export function knownRefs({ version, refs, pending }: CodeState, pushId: PushId | null): KnownRefs {
  const push = pushId === null ? undefined : pending.get(pushId)
  const updatedRefHashes = push?.updates.map(({ refHash }) => refHash) ?? null
  return { readVersion: version, refs: new Map(refs), updatedRefHashes }
}

/** Returns the refs, without names, whose ids in the repository differ from the events. */
export function differingRefs(
  { refs }: KnownRefs,
  tips: ReadonlyMap<string, string>,
): readonly Omit<FoundRef, "ref">[] {
  const deletedRefs = [...refs.keys()]
    .filter((tag) => !tips.has(tag))
    .map((refHash) => ({ refHash, id: null }))
  const changedRefs = [...tips].filter(([tag, id]) => refs.get(tag) !== id)
  return [...deletedRefs, ...changedRefs.map(([refHash, id]) => ({ refHash, id }))]
}
