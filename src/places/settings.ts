import { z } from "zod"
import { defineSettings } from "../frame/settings.ts"

const UNITS_MS = { h: 3_600_000, m: 60_000 } as const
const DAY_MS = 24 * UNITS_MS.h
const KEEP = "must be the time that a pick is stored, for example 30m; at most 24h"

const PHOTON =
  "must be a URL, for example https://photon.example.com, without a name, password or query"
const isBare = (text: string) => {
  // Invalid URLs are reported by the schema.
  const url = URL.parse(text)
  return url === null || `${url.username}${url.password}${url.search}${url.hash}` === ""
}

const storedFor = z
  .string()
  .regex(/^\d{1,4}[hm]$/, KEEP)
  .transform((text) => Number(text.slice(0, -1)) * UNITS_MS[text.slice(-1) as "h" | "m"])
  .refine((ms) => ms > 0 && ms <= DAY_MS, KEEP)

/** The settings of address lookups: the provider, and how long picks are stored. */
export const placesSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    PLACES_GOOGLE_KEY: z
      .string()
      .regex(/^[\w-]{20,}$/, "must be a Google API key, for example AIza…")
      .optional(),
    PLACES_PHOTON_URL: z
      .url({ protocol: /^https?$/, error: PHOTON })
      .refine(isBare, PHOTON)
      .optional(),
    PLACES_KEEP: storedFor.default(DAY_MS),
  }),
  secret: ["PLACES_GOOGLE_KEY"],
  faults: (given) =>
    given["PLACES_GOOGLE_KEY"] !== undefined && given["PLACES_PHOTON_URL"] !== undefined
      ? ["PLACES_GOOGLE_KEY and PLACES_PHOTON_URL choose two providers. Set only one of them."]
      : [],
})
