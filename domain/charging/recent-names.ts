/**
 * Names that were used lately: what makes once-only those ids that the caller chose.
 *
 * Such an id may be as old as the ledger, and a ledger remembers no ids for ever. So its caller first
 * looks it up among all that was ever recorded, up to some revision; what came after that revision
 * is kept here. Where even that was forgotten meanwhile, the caller is told to look again. Nothing
 * is ever recorded twice, and what is kept is bounded.
 */

/** What `isValidExternalId` asks for, in words. */
export const EXTERNAL_ID_RULE =
  "has 1 to 200 characters of A-Z a-z 0-9 _ . @ + -, begins with a letter or digit, and not with chg_"

/**
 * Whether a caller may choose this id for a charge. Ids that derive from carried state (`chg_…`, or
 * with a colon: `<boxId>:<minute>`, `<keyId>:<personId>:<day>`) are not theirs to choose: the two
 * kinds are made once-only in different ways and must never meet.
 */
export function isValidExternalId(id: string): boolean {
  return /^[A-Za-z\d][\w.@+-]{0,199}$/.test(id) && !id.startsWith("chg_")
}

/** How many names are kept. */
const MAX_RECENT_NAMES = 256

/** The names that were used last. */
export interface RecentNames {
  /** The revision of each, oldest first. */
  readonly names: Map<string, number>
  /** The newest revision whose name was forgotten; -1 for none. */
  forgottenThrough: number
}

/** Nothing yet. */
export function emptyRecentNames(): RecentNames {
  return { names: new Map(), forgottenThrough: -1 }
}

/**
 * What is known of a name that was looked for up to a revision and not found: it was used since
 * then, it was not, or it must be looked for again.
 */
export function lookUpRecentName(
  recent: RecentNames,
  name: string,
  searchedTo: number,
): "used" | "new" | "unsure" {
  if (recent.names.has(name)) return "used"
  return recent.forgottenThrough > searchedTo ? "unsure" : "new"
}

/** Whether a name may have been used after this revision: it was, or that is forgotten. */
export function isPossiblyUsedAfter(recent: RecentNames, name: string, revision: number): boolean {
  return (recent.names.get(name) ?? recent.forgottenThrough) > revision
}

/** Keeps in mind that a name was used at a revision. */
export function rememberName(recent: RecentNames, name: string, revision: number): void {
  recent.names.set(name, revision)
  if (recent.names.size <= MAX_RECENT_NAMES) return
  const [oldest, at] = recent.names.entries().next().value as [string, number]
  recent.names.delete(oldest)
  recent.forgottenThrough = Math.max(recent.forgottenThrough, at)
}
