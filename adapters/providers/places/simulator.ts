/**
 * The built-in addresses: they need nothing and are nowhere. What they do next can be set
 * (`simulator set places …`).
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { Simulator, Simulators } from "../simulators/port.ts"
import type { PlacesProvider, PlaceSuggestion, PlaceAddress } from "./port.ts"
import { MAX_SUGGESTIONS } from "./port.ts"
import { distance } from "fastest-levenshtein"

/** What they can be told to do. */
export const PLACES_SIMULATOR = { name: "places", outcomes: ["none"] } as const satisfies Simulator

const SLOW_DELAY_MS = 2_000

/** What they work with. */
interface SimulatedPlacesPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** The built-in addresses. Their calls throw ProviderUnavailable and ProviderOutcomeUnknown, as they are set to. */
export function openSimulatedPlaces({ simulators, pacer }: SimulatedPlacesPorts): PlacesProvider {
  let search: TextSearch | null = null
  /** Whether there is something to be found, as it is set. */
  const isFound = async (): Promise<boolean> => {
    const outcome = await simulators.nextOutcome(PLACES_SIMULATOR)
    if (outcome === "unavailable") throw new ProviderUnavailable("the addresses answered 503")
    if (outcome === "silent") throw new ProviderOutcomeUnknown("the addresses did not answer")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    return outcome !== "none"
  }
  return {
    hasSessions: false,
    suggest: async (input) => {
      if (!(await isFound())) return []
      search ??= createTextSearch(
        allStreets().map(({ name, town, state, zip }) => `${name} ${town} ${state} ${zip}`),
      )
      const { house, street } = parseHouseNumber(input)
      return search.find(street, MAX_SUGGESTIONS).flatMap((index): readonly PlaceSuggestion[] => {
        const address = addressAt(index, house)
        if (address === null) return []
        const { line1: main, city, state, zip } = address
        const placeId = `demo_${index}${house === "" ? "" : `_${house}`}`
        return [{ placeId, main, secondary: `${city}, ${state} ${zip}` }]
      })
    },
    findAddress: async (placeId) => {
      if (!(await isFound())) return null
      const [, index, house = ""] =
        /^demo_(\d{1,5})(?:_(\d{1,6}(?:-\d{1,6})?[a-z]?))?$/.exec(placeId) ?? []
      return index === undefined ? null : addressAt(Number(index), house)
    },
  }
}

/** The number of a house before or behind its street, kept as it was typed, and the rest. */
function parseHouseNumber(input: string): { readonly house: string; readonly street: string } {
  const number = String.raw`\d{1,6}(?:-\d{1,6})?[a-z]?`
  const [, before, rest = ""] =
    new RegExp(`^\\s*(${number})[\\s,]+(.*\\p{L}.*)$`, "isu").exec(input) ?? []
  if (before !== undefined) return { house: before.toLowerCase(), street: rest }
  // Five digits behind everything are a ZIP code.
  const behind = String.raw`\d{1,4}(?:-\d{1,4})?[a-z]?`
  const [, street = input, house = ""] =
    new RegExp(`^(.*\\p{L}.*?)[\\s,]+(${behind})\\s*$`, "isu").exec(input) ?? []
  return { house: house.toLowerCase(), street }
}

// Finding texts by their words: by the beginning of one, by a part of it, or with a slip of the finger. Every
// word of a query is held against every word that there is, of which a list of streets has few; so 12,000
// streets take milliseconds and need no database.

/** A search over texts. */
interface TextSearch {
  /** The places of the best matches, the best first. */
  readonly find: (query: string, most: number) => readonly number[]
}

/** So much of a query's letters must be found again, or it means something else. */
const MIN_MATCH_RATIO = 0.6

/** Makes a search. */
export function createTextSearch(texts: readonly string[]): TextSearch {
  const vocabulary = new Map<string, number>()
  const rows = texts.map((text) =>
    wordsOf(text).map((word) => {
      const known = vocabulary.get(word)
      if (known !== undefined) return known
      vocabulary.set(word, vocabulary.size)
      return vocabulary.size - 1
    }),
  )
  const words = [...vocabulary.keys()]
  return {
    find: (query, most) => {
      const asked = wordsOf(query)
      const letters = asked.reduce((sum, { length }) => sum + length, 0)
      if (letters === 0) return []
      // How well each word that there is stands for each that is asked for, once for all texts.
      const fits = asked.map((word) => words.map((one) => matchScore(word, one) * word.length))
      const scores = rows.map((row) =>
        fits.reduce((sum, fit) => sum + row.reduce((best, i) => Math.max(best, fit[i] ?? 0), 0), 0),
      )
      const found = [...scores.keys()].filter((i) => (scores[i] ?? 0) >= letters * MIN_MATCH_RATIO)
      // Of two that hold the same of it, the shorter says less that was not asked for.
      const better = (a: number, b: number) =>
        (scores[b] ?? 0) - (scores[a] ?? 0) ||
        (texts[a] ?? "").length - (texts[b] ?? "").length ||
        a - b
      return found.toSorted(better).slice(0, most)
    },
  }
}

/** How well a word stands for one that was typed, 0 to 1. */
function matchScore(typed: string, word: string): number {
  if (word === typed) return 1
  if (word.startsWith(typed)) return 0.95
  if (typed.length < 3) return 0
  if (word.includes(typed)) return 0.7
  // A letter too many, too few or another, two of a longer word; or two that changed places.
  const slips = Math.min(
    countTypos(typed, word),
    // It may not be at its end yet.
    word.length > typed.length ? countTypos(typed, word.slice(0, typed.length)) : Infinity,
  )
  const allowed = typed.length >= 6 ? 2 : 1
  return slips > allowed ? 0 : 0.9 - slips * 0.1 - (typed[0] === word[0] ? 0 : 0.2)
}

/** Letters to change; two neighbours that changed places are one slip. */
function countTypos(typed: string, word: string): number {
  const far = distance(typed, word)
  if (far !== 2 || typed.length !== word.length) return far
  const at = [...typed].findIndex((letter, i) => letter !== word[i])
  const swapped = `${typed.slice(0, at)}${typed[at + 1]}${typed[at]}${typed.slice(at + 2)}`
  return swapped === word ? 1 : far
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

// The built-in addresses: every street of towns that are not there, made of two lists of words. Their ZIP
// codes were never assigned and they lie in the open Pacific: nobody posts a parcel to one.

const STREET_NAMES =
  "Adams Alder Ash Aspen Bay Birch Bridge Canal Cedar Center Chapel Cherry Chestnut Church Clark Court Creek " +
  "Cypress Dogwood Elm Fairview Franklin Garden Grant Grove Harbor Hawthorn Hickory Highland Hill Jackson " +
  "Jefferson Lake Laurel Lincoln Linden Locust Madison Magnolia Main Maple Market Meadow Mill Monroe Mulberry Oak " +
  "Orchard Park Pine Poplar Prospect River Sycamore Union Valley Walnut Washington Willow Winter"
const STREET_KINDS = "Street Avenue Road Lane Drive Court Way Place Terrace Boulevard"
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
interface Street {
  readonly name: string
  readonly town: string
  readonly state: string
  readonly zip: string
}

const streetCache: { streets?: readonly Street[] } = {}

/** All streets there are: 12,000, always in the same order. They are made when somebody first asks. */
const allStreets = (): readonly Street[] =>
  (streetCache.streets ??= TOWNS.flatMap(([town, state], i) =>
    STREET_NAMES.split(" ").flatMap((name) =>
      STREET_KINDS.split(" ").map((kind) => ({
        name: `${name} ${kind}`,
        town,
        state,
        zip: String(i + 1).padStart(5, "0"),
      })),
    ),
  ))

/** The address of a house in a street, by its place among them; of the street itself without a number. */
function addressAt(index: number, house: string): PlaceAddress | null {
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
