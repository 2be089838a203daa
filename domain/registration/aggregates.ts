import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { RegistrationEvent } from "./registration-events.ts"
import { registrationCodec } from "./registration-events.ts"
import { registrationDecider, registrationCheckpoint } from "./registration.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly registration: RegistrationEvent
  }
}

/** The texting registration of a company. */
export const REGISTRATION_AGGREGATE = {
  category: "registration" as const,
  decider: registrationDecider,
  codec: registrationCodec,
  checkpoint: registrationCheckpoint,
}

/** Names the stream `registration-<companyId>`. */
export const registrationStreamOf = (companyId: CompanyId) =>
  streamOf(REGISTRATION_AGGREGATE, companyId)
