import { singletonStreamOf } from "../kernel/aggregate.ts"
import type { CompaniesEvent } from "./companies.ts"
import { companiesDecider, companiesCodec } from "./companies.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly companies: CompaniesEvent
  }
}

/** The stream `companies` of all companies. */
export const COMPANIES_STREAM = singletonStreamOf({
  category: "companies" as const,
  decider: companiesDecider,
  codec: companiesCodec,
})
