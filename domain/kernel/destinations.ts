/**
 * Which countries can be texted, and called by forwarding (decisions.md §9): by country, never by the
 * prefix +1, for among the islands under it are those of the one-ring fraud.
 */

/** Always on. */
export const ALWAYS_ENABLED_COUNTRIES = ["US", "CA"] as const

/** Off at first; the company switches them itself. */
export const SELF_SERVE_COUNTRIES = [
  "PR",
  "VI",
  "GU",
  "AS",
  "MP",
  "GB",
  "IE",
  "FR",
  "DE",
  "AT",
  "CH",
  "NL",
  "BE",
  "LU",
  "ES",
  "PT",
  "IT",
  "DK",
  "SE",
  "NO",
  "FI",
  "IS",
  "PL",
  "CZ",
  "AU",
  "NZ",
  "JP",
  "MX",
  "IL",
] as const

/** Nobody can switch them on. */
const BLOCKED_COUNTRY_SET: ReadonlySet<string> = new Set(["CU", "IR", "KP", "SY"])
const ALWAYS_ENABLED_SET: ReadonlySet<string> = new Set(ALWAYS_ENABLED_COUNTRIES)
const SELF_SERVE_SET: ReadonlySet<string> = new Set(SELF_SERVE_COUNTRIES)

/** Who decides on a country: nobody, the company itself, or support for it. */
export type DestinationClass = "always" | "self_serve" | "support" | "never"

/** Who decides on a country, by its two letters. */
export function destinationClass(country: string): DestinationClass {
  if (ALWAYS_ENABLED_SET.has(country)) return "always"
  if (SELF_SERVE_SET.has(country)) return "self_serve"
  return BLOCKED_COUNTRY_SET.has(country) ? "never" : "support"
}
