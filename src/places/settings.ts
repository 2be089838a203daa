/** What of address look-ups an operator sets: who is asked, and how long a pick is kept. */
import { z } from "zod"
import { defineSettings } from "../frame/settings.ts"

const UNITS_MS = { h: 3_600_000, m: 60_000 } as const
const DAY_MS = 24 * UNITS_MS.h
const KEEP = "must be how long a pick is kept, such as 24h (the most) or 30m"

const PHOTON =
  "must be an address such as https://photon.example.com, without a name, a password or a query"
const isBare = (text: string) => {
  // What is no address at all is told of already.
  const url = URL.parse(text)
  return url === null || `${url.username}${url.password}${url.search}${url.hash}` === ""
}

const keptFor = z
  .string()
  .regex(/^\d{1,4}[hm]$/, KEEP)
  .transform((text) => Number(text.slice(0, -1)) * UNITS_MS[text.slice(-1) as "h" | "m"])
  .refine((ms) => ms > 0 && ms <= DAY_MS, KEEP)

/** Which provider it is, and how long the address of a pick is kept. */
export const placesSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    PLACES_GOOGLE_KEY: z
      .string()
      .regex(/^[\w-]{20,}$/, "must be an API key of Google, such as AIza…")
      .optional(),
    PLACES_PHOTON_URL: z
      .url({ protocol: /^https?$/, error: PHOTON })
      .refine(isBare, PHOTON)
      .optional(),
    PLACES_KEEP: keptFor.default(DAY_MS),
  }),
  secret: ["PLACES_GOOGLE_KEY"],
  faults: (given) =>
    given["PLACES_GOOGLE_KEY"] !== undefined && given["PLACES_PHOTON_URL"] !== undefined
      ? ["PLACES_GOOGLE_KEY and PLACES_PHOTON_URL name two providers of addresses: set one."]
      : [],
})
