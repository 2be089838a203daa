/** What commands on whole histories take. */
import { z } from "zod"

/** The company that is meant alone. */
export const COMPANY_OPTION = z
  .string()
  .optional()
  .meta({ description: "only this company's, by id or name", form: "text" })

/** The key that signed a file. */
export const PUBLIC_KEY_OPTION = z.string().optional().meta({
  description: "the key that must have signed it; default any, which is then shown",
  form: "public-key",
})

/** What `audit replay` takes: whose history, by which rules. */
export const ReplayInput = z.object({
  company: COMPANY_OPTION,
  rules: z
    .string()
    .optional()
    .meta({ description: "other rules: a folder, or a commit", takes: "path", form: "text" }),
  file: z.string().optional().meta({ description: "the history of an export", form: "text" }),
  publicKey: PUBLIC_KEY_OPTION,
})
