/**
 * Apps that ask to be connected: each holds a code that an owner approves. Of a code and of a company's
 * name only keyed hashes are kept. No fact: what comes of an approval, the app's key, is one.
 */
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"

/** An app that asks to be connected. */
export interface ConnectRequest {
  /** Keyed hash of the code. */
  readonly codeTag: string
  /** Keyed hash of the company's name or id that the app asks for; null where it did not say. */
  readonly companyTag: string | null
  readonly installId: string | null
  readonly version: string
  readonly expiresAt: number
}

/** Who approved a request, and for which company. */
export interface Approval {
  readonly companyId: CompanyId
  readonly personId: PersonId
}

/** Keeps requests until they are over. */
export interface ConnectCodes {
  /** Keeps a request, and forgets those that were over at `now`. */
  readonly add: (request: ConnectRequest, now: number) => Promise<void>
  /** The request of a code that is not over at `now`; null where there is none. */
  readonly find: (
    codeTag: string,
    now: number,
  ) => Promise<(ConnectRequest & { readonly approval: Approval | null }) | null>
  /** Approves a request, unless somebody did; answers who did, null where there is no request. */
  readonly approve: (codeTag: string, now: number, approval: Approval) => Promise<Approval | null>
}
