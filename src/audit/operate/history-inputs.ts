/** Inputs of the commands on histories. */
import { z } from "zod"

/** The option that limits a command to one company. */
export const COMPANY_OPTION = z
  .string()
  .optional()
  .meta({ description: "only this company, by id or name", form: "text" })

export const PUBLIC_KEY_OPTION = z.string().optional().meta({
  description: "the key that must have signed it; default: any key, which is then shown",
  form: "public-key",
})

/** The input of `audit replay`. */
export const ReplayInput = z.object({
  company: COMPANY_OPTION,
  rules: z
    .string()
    .optional()
    .meta({ description: "other rules: a folder, or a commit", takes: "path", form: "text" }),
  file: z.string().optional().meta({ description: "the history of an export", form: "text" }),
  publicKey: PUBLIC_KEY_OPTION,
})
