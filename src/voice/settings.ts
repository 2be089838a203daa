/**
 * What of Telnyx calls are reached by. The account is that which carries texts, whose slice brings these settings
 * and says what is wrong with them: here they are read once more, for slices do not import each other.
 */
import { z } from "zod"
import type { Given } from "../frame/settings.ts"
import { settings } from "../frame/settings.ts"

/** How Telnyx is reached, and reaches us. */
export const telnyxOfCalls = settings({
  from: import.meta.url,
  schema: z.object({
    TELNYX_KEY: z.string().optional(),
    TELNYX_PUBLIC_KEY: z.string().optional(),
    TELNYX_CONNECTION: z.string().optional(),
    TELNYX_URL: z.string().default("https://api.telnyx.com/v2"),
  }),
})

/** The setting that chooses Telnyx for calls: numbers have a connection then, to come by. Null where none does. */
export function callsChosenBy(given: Given): string | null {
  const isChosen = given["TELNYX_KEY"] !== undefined && given["TELNYX_CONNECTION"] !== undefined
  return isChosen ? "TELNYX_CONNECTION" : null
}
