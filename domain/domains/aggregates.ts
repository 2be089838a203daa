import { singletonStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { DomainReservationEvent, DomainEvent, DomainId } from "./domain-events.ts"
import { domainReservationCodec, domainCodec } from "./domain-events.ts"
import { domainBytes, domainCheckpoint } from "./domain-state.ts"
import { domainDecider } from "./domain.ts"
import {
  domainReservationsDecider,
  domainReservationsBytes,
  domainReservationsCheckpoint,
} from "./domain-reservations.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly domain: DomainEvent
    readonly domains: DomainReservationEvent
  }
}

export const DOMAIN_AGGREGATE = {
  category: "domain" as const,
  decider: domainDecider,
  codec: domainCodec,
  checkpoint: domainCheckpoint,
  bytesOf: domainBytes,
}

/** Names the stream `domain-<companyId>-<domainId>`. */
export const domainStreamOf = (companyId: CompanyId, domainId: DomainId) =>
  streamOf(DOMAIN_AGGREGATE, companyId, domainId)

/** The stream `domains` of all domain reservations. */
export const DOMAIN_RESERVATIONS_STREAM = singletonStreamOf({
  category: "domains" as const,
  decider: domainReservationsDecider,
  codec: domainReservationCodec,
  checkpoint: domainReservationsCheckpoint,
  bytesOf: domainReservationsBytes,
})
