/** The affiliate slice. */
import { affiliateOperations } from "./operate/affiliate.ts"
import type { Slice } from "../frame/slice.ts"
import { readAffiliate } from "./read-affiliate.ts"

/** The route and the operation of the affiliate program. */
export const affiliateSlice: Slice = {
  name: "affiliate",
  groups: {
    affiliate: `What the company earns from its referrals, and how it is paid out.`,
  },
  routes: [readAffiliate],
  commands: affiliateOperations,
  topics: { affiliate: "the affiliate program" },
}
