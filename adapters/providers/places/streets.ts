/**
 * The built-in addresses: every street of towns that are not there, made of two lists of words. Their ZIP
 * codes were never assigned and they lie in the open Pacific: nobody posts a parcel to one.
 */
import type { Address } from "./port.ts"

const NAMES =
  "Adams Alder Ash Aspen Bay Birch Bridge Canal Cedar Center Chapel Cherry Chestnut Church Clark Court Creek " +
  "Cypress Dogwood Elm Fairview Franklin Garden Grant Grove Harbor Hawthorn Hickory Highland Hill Jackson " +
  "Jefferson Lake Laurel Lincoln Linden Locust Madison Magnolia Main Maple Market Meadow Mill Monroe Mulberry Oak " +
  "Orchard Park Pine Poplar Prospect River Sycamore Union Valley Walnut Washington Willow Winter"
const KINDS = "Street Avenue Road Lane Drive Court Way Place Terrace Boulevard"
const TOWNS: readonly (readonly [town: string, state: string])[] = [
  ...([
    ["Amberfield", "OH"],
    ["Brookhollow", "PA"],
    ["Cedar Bluffs", "IA"],
    ["Dunmore Heights", "NY"],
    ["Eastwick", "NJ"],
    ["Fallow Springs", "TX"],
    ["Graniteville Falls", "NH"],
    ["Hollis Landing", "ME"],
    ["Ironvale", "MN"],
    ["Juniper Flats", "NV"],
  ] as const),
  ...([
    ["Kestrel Point", "OR"],
    ["Larkmont", "GA"],
    ["Millrace", "VT"],
    ["Northfen", "WI"],
    ["Oakhaven Bay", "FL"],
    ["Pinegrove Falls", "WA"],
    ["Quarry Hills", "CO"],
    ["Riverton Mills", "KY"],
    ["Salem Falls", "MA"],
    ["Thistledown", "MT"],
  ] as const),
]

/** A street in a town. */
export interface Street {
  readonly name: string
  readonly town: string
  readonly state: string
  readonly zip: string
}

const made: { streets?: readonly Street[] } = {}

/** All streets there are: 12,000, always in the same order. They are made when somebody first asks. */
export const allStreets = (): readonly Street[] =>
  (made.streets ??= TOWNS.flatMap(([town, state], i) =>
    NAMES.split(" ").flatMap((name) =>
      KINDS.split(" ").map((kind) => ({
        name: `${name} ${kind}`,
        town,
        state,
        zip: String(i + 1).padStart(5, "0"),
      })),
    ),
  ))

/** The address of a house in a street, by its place among them; of the street itself without a number. */
export function addressIn(index: number, house: string): Address | null {
  const street = allStreets()[index]
  if (street === undefined) return null
  const { name, town: city, state, zip } = street
  const line1 = `${house} ${name}`.trim()
  // Around the place that is farthest from any land.
  const lat = Number((-48.9 + (index % 600) / 1_000).toFixed(6))
  const lng = Number((-123.4 + Math.floor(index / 600) / 1_000).toFixed(6))
  const formatted = `${line1}, ${city}, ${state} ${zip}, US`
  return { line1, city, state, zip, country: "US", lat, lng, formatted }
}
