/** Who was seen where last: no fact, and forgotten by a crash of the database. */
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"

/** Where people are seen. */
export const CLIENT_KINDS = ["app", "dashboard", "launcher"] as const

/** Where somebody was seen. */
export type ClientKind = (typeof CLIENT_KINDS)[number]

/** Somebody was seen in a place. */
export interface Sighting {
  readonly personId: PersonId
  readonly client: ClientKind
  /** By the ledger's clock, UTC milliseconds. */
  readonly seenAt: number
}

/** Remembers the last sighting of each person in each place. */
export interface OnlineStatus {
  readonly noteSeen: (companyId: CompanyId, sighting: Sighting) => Promise<void>
  /** The last sightings of a company's people, the latest first. */
  readonly list: (companyId: CompanyId) => Promise<readonly Sighting[]>
}
