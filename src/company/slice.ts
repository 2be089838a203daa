/** Companies: how they begin, and how they are deleted and erased. */
import { companyOperations } from "./operate/companies.ts"
import { COMPANIES } from "../../domain/company/aggregates.ts"
import { companies } from "../../projections/company/companies.ts"
import type { Slice } from "../frame/slice.ts"
import { removeCompany } from "./delete-company.ts"
import { switchKeys } from "./reactions/company-deletion.ts"
import { eraseCompany } from "./reactions/erase-company.ts"
import { companyOpening } from "./reactions/open-company.ts"

/** How companies begin and end. */
export const company: Slice = {
  name: "company",
  streams: { ofInstallation: [COMPANIES] },
  groups: {
    company: `The end of a company. Its keys stop at once, and its data is erased after 14 days; until then the operator can undo it.`,
  },
  routes: [removeCompany],
  readModels: [companies],
  reactions: [companyOpening, switchKeys, eraseCompany],
  operations: companyOperations,
  topics: { company: "companies" },
}
