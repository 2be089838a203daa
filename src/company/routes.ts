/** The routes of the company itself. */
import type { Route } from "../frame/calls/route.ts"
import { removeCompany } from "./delete-company.ts"

/** Deleting the company. */
export const companyRoutes: readonly Route[] = [removeCompany]
