/**
 * Names that were used recently. They make ids unique that the caller chose.
 *
 * Such an id may be as old as the ledger, and no state can hold all ids. So the caller first looks the id up among
 * everything recorded up to some revision, and later names are remembered here. If some of those were forgotten
 * meanwhile, the caller must look again. So nothing is recorded twice, and memory is bounded.
 */

/** The rule of `isValidExternalId` in words. */
export const EXTERNAL_ID_RULE =
  "has 1 to 200 characters of A-Z a-z 0-9 _ . @ + -, starts with a letter or digit, and does not start with chg_"

/**
 * Whether a caller may choose this id for a charge. Ids derived from state (`chg_…`, or with a colon:
 * `<boxId>:<minute>`, `<keyId>:<personId>:<day>`) are reserved, because they are made unique in another way.
 */
export function isValidExternalId(id: string): boolean {
  return /^[A-Za-z\d][\w.@+-]{0,199}$/.test(id) && !id.startsWith("chg_")
}

const MAX_RECENT_NAMES = 256

/** The names that were used last. */
export interface RecentNames {
  /** Revision by name, oldest first. */
  readonly names: Map<string, number>
  /** The newest revision whose name was forgotten; -1 for none. */
  forgottenThrough: number
}

/** Returns the state without names. */
export function emptyRecentNames(): RecentNames {
  return { names: new Map(), forgottenThrough: -1 }
}

/**
 * Looks up a name that was not found up to revision `searchedTo`: it was used since, it is new, or it must be
 * searched again.
 */
export function lookUpRecentName(
  recent: RecentNames,
  name: string,
  searchedTo: number,
): "used" | "new" | "unsure" {
  if (recent.names.has(name)) return "used"
  return recent.forgottenThrough > searchedTo ? "unsure" : "new"
}

/** Whether a name was used after this revision, or may have been and was forgotten. */
export function isPossiblyUsedAfter(recent: RecentNames, name: string, revision: number): boolean {
  return (recent.names.get(name) ?? recent.forgottenThrough) > revision
}

/** Remembers that a name was used at a revision. */
export function rememberName(recent: RecentNames, name: string, revision: number): void {
  recent.names.set(name, revision)
  if (recent.names.size <= MAX_RECENT_NAMES) return
  const [oldest, at] = recent.names.entries().next().value as [string, number]
  recent.names.delete(oldest)
  recent.forgottenThrough = Math.max(recent.forgottenThrough, at)
}
