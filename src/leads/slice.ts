/** Website leads; their earlier routes are retired. */
import type { Slice } from "../frame/slice.ts"

/** Leads from a company's website. */
export const leads: Slice = {
  name: "leads",
  retired: ["/api/v1/leads/intake", "/api/v1/leads/forms"],
}
