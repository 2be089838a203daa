/** Which companies there are: the one stream `companies`. */
import { onlyStreamOf } from "../kernel/aggregate.ts"
import { companies, companiesCodec } from "./companies.ts"

/** The stream of all companies. */
export const COMPANIES = onlyStreamOf({
  category: "companies",
  decider: companies,
  codec: companiesCodec,
})
