/** What referrals earn. */
import type { Slice } from "../frame/slice.ts"
import { readAffiliate } from "./read-affiliate.ts"

/** What referrals earn their company. */
export const affiliate: Slice = { name: "affiliate", routes: [readAffiliate] }
