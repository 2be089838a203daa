/** Which companies there are: the one stream `companies`. */
import { onlyStreamOf } from "../kernel/aggregate.ts"
import type { CompaniesEvent } from "./companies.ts"
import { companies, companiesCodec } from "./companies.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly companies: CompaniesEvent
  }
}

/** The stream of all companies. */
export const COMPANIES = onlyStreamOf({
  category: "companies" as const,
  decider: companies,
  codec: companiesCodec,
})
