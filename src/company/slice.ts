/** Companies: how they begin, and how they are deleted and erased. */
import { companyOperations } from "./operate/companies.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import { companiesReadModel } from "../../projections/company/companies.ts"
import type { Slice } from "../frame/slice.ts"
import { deleteCompanyRoute } from "./delete-company.ts"
import { switchKeys } from "./reactions/company-deletion.ts"
import { eraseCompany } from "./reactions/erase-company.ts"
import { openCompanyReaction } from "./reactions/open-company.ts"

/** How companies begin and end. */
export const companySlice: Slice = {
  name: "company",
  streams: { perInstallation: [COMPANIES_STREAM] },
  groups: {
    company: `The end of a company. Its keys stop at once, and its data is erased after 14 days; until then the operator can undo it.`,
  },
  routes: [deleteCompanyRoute],
  readModels: [companiesReadModel],
  reactions: [openCompanyReaction, switchKeys, eraseCompany],
  commands: companyOperations,
  topics: { company: "companies" },
}
