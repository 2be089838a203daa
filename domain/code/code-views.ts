/** What others may know of a company's code. */
import type { FoundRef, PushId } from "./code-events.ts"
import type { CodeState } from "./code.ts"

/** Whether the company has a repository. */
export function hasRepository({ isThere }: CodeState): boolean {
  return isThere
}

/** How often cleaning began and ended: for `AcceptPush`. */
export function scrubCountOf({ scrubs }: CodeState): number {
  return scrubs
}

/** The tree of the protected core on the default branch; null where there is none, or nobody knows it. */
export function coreTreeOf({ core }: CodeState): string | null {
  return core?.tree ?? null
}

/** The keyed hash of the default branch's name; null before a push has moved one. */
export function defaultBranchHashOf({ core }: CodeState): string | null {
  return core?.refHash ?? null
}

/** Whether a text with this fingerprint is let through. */
export function isSecretAllowed({ allowed }: CodeState, fingerprint: string): boolean {
  return allowed.has(fingerprint)
}

/** The refs as the facts have them, to be compared with those there are. */
export interface KnownRefs {
  /** For `ReconcileRefs`. */
  readonly readVersion: number
  /** Where each points, by the keyed hash of its name. */
  readonly refs: ReadonlyMap<string, string>
  /** The hashes of what the push moves; null where it has ended, or there was none. */
  readonly updatedRefHashes: readonly string[] | null
}

/** The refs as the facts have them. */
export function knownRefs({ version, refs, pending }: CodeState, pushId: PushId | null): KnownRefs {
  const push = pushId === null ? undefined : pending.get(pushId)
  const updatedRefHashes = push?.updates.map(({ refHash }) => refHash) ?? null
  return { readVersion: version, refs: new Map(refs), updatedRefHashes }
}

/** Refs that differ from the facts, without their names, of those that were looked at. */
export function differingRefs(
  { refs }: KnownRefs,
  tips: ReadonlyMap<string, string>,
): readonly Omit<FoundRef, "ref">[] {
  const gone = [...refs.keys()]
    .filter((tag) => !tips.has(tag))
    .map((refHash) => ({ refHash, id: null }))
  const others = [...tips].filter(([tag, id]) => refs.get(tag) !== id)
  return [...gone, ...others.map(([refHash, id]) => ({ refHash, id }))]
}
