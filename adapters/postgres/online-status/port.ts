/** Who was seen where last: no fact, and forgotten by a crash of the database. */
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"

/** Where people are seen. */
export const PLACES = ["app", "dashboard", "launcher"] as const

/** Where somebody was seen. */
export type Place = (typeof PLACES)[number]

/** Somebody was seen in a place. */
export interface Sighting {
  readonly personId: PersonId
  readonly place: Place
  /** By the ledger's clock, UTC milliseconds. */
  readonly seenAt: number
}

/** Remembers the last sighting of each person in each place. */
export interface Presence {
  readonly seen: (companyId: CompanyId, sighting: Sighting) => Promise<void>
  /** The last sightings of a company's people, the latest first. */
  readonly of: (companyId: CompanyId) => Promise<readonly Sighting[]>
}
