/** Online status: where a person was seen last. It is not a fact, and a crash of the database loses it. */
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"

/** The clients in which people are seen. */
export const CLIENT_KINDS = ["app", "dashboard", "launcher"] as const

export type ClientKind = (typeof CLIENT_KINDS)[number]

export interface Sighting {
  readonly personId: PersonId
  readonly client: ClientKind
  /** By the ledger's clock, UTC milliseconds. */
  readonly seenAt: number
}

/** Stores the last sighting of each person in each client. */
export interface OnlineStatus {
  readonly noteSeen: (companyId: CompanyId, sighting: Sighting) => Promise<void>
  /** The last sightings of a company's people, latest first. */
  readonly list: (companyId: CompanyId) => Promise<readonly Sighting[]>
}
