/**
 * The facts about who holds which domain, and the forms they are stored in. A domain's name is no secret:
 * whoever asks the registry is told it, so it stands here in the clear and two companies can be compared.
 */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, oneOf, plain, time } from "../kernel/format.ts"
import { id } from "../kernel/id-kinds.ts"
import { domainId } from "./ids.ts"

/** Why a domain is held no more. */
export const RELEASE_REASONS = [
  /** An operator removed it. */
  "removed",
  /** It never pointed here, for as long as it may wait. */
  "lapsed",
  /** Its company was erased. */
  "erased",
] as const

/** Why a domain is held no more. */
export type ReleaseReason = (typeof RELEASE_REASONS)[number]

const fields = { at: time, domainId, companyId: id.company, name: plain }

/** Everything that can happen to claims of domains. */
export const claimFormats = {
  /** A company holds a name from here on. */
  DomainReserved: { version: 1, fields },
  /** It does no more. */
  DomainReleased: { version: 1, fields: { ...fields, reason: oneOf(...RELEASE_REASONS) } },
} satisfies FormatTable

/** Everything that can happen to claims of domains. */
export type ClaimEvent = FactOf<typeof claimFormats>

/** One of these facts. */
export type ClaimFact<T extends ClaimEvent["type"]> = Extract<ClaimEvent, { readonly type: T }>

/** Writes and reads the facts of claims. */
export const claimCodec = codecOf(claimFormats)
