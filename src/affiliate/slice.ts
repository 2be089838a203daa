/** What referrals earn. */
import { affiliateOperations } from "./operate/affiliate.ts"
import type { Slice } from "../frame/slice.ts"
import { readAffiliate } from "./read-affiliate.ts"

/** What referrals earn their company. */
export const affiliateSlice: Slice = {
  name: "affiliate",
  groups: {
    affiliate: `What the company earns by those that it brings, and how that is paid out.`,
  },
  routes: [readAffiliate],
  commands: affiliateOperations,
  topics: { affiliate: "the affiliate programme" },
}
