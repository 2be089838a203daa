/** The routes of the affiliate slice. */
import type { Route } from "../frame/calls/route.ts"
import { readAffiliate } from "./read-affiliate.ts"

/** What referrals earn. */
export const affiliateRoutes: readonly Route[] = [readAffiliate]
