/** Settings of bills. */
import { z } from "zod"
import { defineSettings } from "../frame/settings.ts"

export const billingSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    BILLING_ISSUER: z
      .string()
      .min(1, "must have 1 to 200 characters")
      .max(200, "must have 1 to 200 characters")
      .default("Company Platform"),
  }),
})
