/** The registration of a company's texting, stream `registration-<companyId>`. */
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

/** The registration of a company's texting. */
export const REGISTRATION_AGGREGATE = {
  category: "registration" as const,
  decider: registrationDecider,
  codec: registrationCodec,
  checkpoint: registrationCheckpoint,
}

/** The stream of a company's registration. */
export const registrationStreamOf = (companyId: CompanyId) =>
  streamOf(REGISTRATION_AGGREGATE, companyId)
