/** Countries that have phone numbers. */
import type { CountryCode } from "libphonenumber-js/max"
import { Metadata, getCountries, getCountryCallingCode } from "libphonenumber-js/max"

const found: { names?: ReadonlyMap<CountryCode, string> } = {}

/** What all of them are called in English, in the order of their names: found once somebody asks. */
function namesOfAll(): ReadonlyMap<CountryCode, string> {
  if (found.names === undefined) {
    const names = new Intl.DisplayNames(["en"], { type: "region" })
    const all = getCountries().map((country) => [country, names.of(country) ?? country] as const)
    found.names = new Map(all.toSorted(([, a], [, b]) => (a < b ? -1 : 1)))
  }
  return found.names
}

/** All of them, by their two letters, in the order of their names. */
export const countries = (): readonly CountryCode[] => [...namesOfAll().keys()]

/** What a country is called in English. */
export const countryName = (country: CountryCode): string => namesOfAll().get(country) ?? country

/** What the numbers of a country begin with: its code, and under +1 its area codes. */
export function prefixesOf(country: CountryCode): string[] {
  const code = getCountryCallingCode(country)
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  const leading = metadata.numberingPlan?.leadingDigits()
  if (code !== "1" || leading === undefined) return [`+${code}`]
  const isOwn = new RegExp(`^(?:${leading})$`)
  const areaCodes = Array.from({ length: 800 }, (_, i) => String(200 + i))
  return areaCodes.filter((area) => isOwn.test(area)).map((area) => `+1${area}`)
}
