/** The routes of the account slice. */
import type { Route } from "../pipeline/route.ts"
import { readAccount } from "./read-account.ts"
import { readAffiliate } from "./read-affiliate.ts"

/** Account and affiliate. */
export const accountRoutes: readonly Route[] = [readAffiliate, readAccount]
