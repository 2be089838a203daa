/** The company slice: creating, deleting and erasing companies. */
import { companyOperations } from "./operate/companies.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import { companiesReadModel } from "../../projections/company/companies.ts"
import type { Slice } from "../frame/slice.ts"
import { deleteCompanyRoute } from "./delete-company.ts"
import { switchKeys } from "./reactions/company-deletion.ts"
import { eraseCompany } from "./reactions/erase-company.ts"
import { openCompanyReaction } from "./reactions/open-company.ts"

/** Streams, routes and operations of a company's life cycle. */
export const companySlice: Slice = {
  name: "company",
  streams: { perInstallation: [COMPANIES_STREAM] },
  groups: {
    company: `Deleting a company. Its keys stop working immediately and its data is erased after 14 days; until then an operator can undo the deletion.`,
  },
  routes: [deleteCompanyRoute],
  readModels: [companiesReadModel],
  reactions: [openCompanyReaction, switchKeys, eraseCompany],
  commands: companyOperations,
  topics: { company: "companies" },
}
