/**
 * Countries that can be texted or called by forwarding (docs/decisions/phone.md). Rules are per country and never per
 * prefix: some islands under +1 are known for one-ring fraud.
 */

/** Countries that are always enabled. */
export const ALWAYS_ENABLED_COUNTRIES = ["US", "CA"] as const

/** Countries that are disabled at first and that a company can enable itself. */
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

const BLOCKED_COUNTRY_SET: ReadonlySet<string> = new Set(["CU", "IR", "KP", "SY"])
const ALWAYS_ENABLED_SET: ReadonlySet<string> = new Set(ALWAYS_ENABLED_COUNTRIES)
const SELF_SERVE_SET: ReadonlySet<string> = new Set(SELF_SERVE_COUNTRIES)

/** Who can enable a country: `self_serve` is the company, `support` is an operator on request. */
export type DestinationClass = "always" | "self_serve" | "support" | "never"

/** Returns the destination class of a two-letter country code. */
export function destinationClass(country: string): DestinationClass {
  if (ALWAYS_ENABLED_SET.has(country)) return "always"
  if (SELF_SERVE_SET.has(country)) return "self_serve"
  return BLOCKED_COUNTRY_SET.has(country) ? "never" : "support"
}
