/**
 * Simulated addresses, which exist nowhere. Operators set the next outcomes with `simulator set
 * places …`.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { Simulator, Simulators } from "../simulators/port.ts"
import type { PlacesProvider, PlaceSuggestion, PlaceAddress } from "./port.ts"
import { MAX_SUGGESTIONS } from "./port.ts"
import { distance } from "fastest-levenshtein"

/** The simulator's outcomes. */
export const PLACES_SIMULATOR = { name: "places", outcomes: ["none"] } as const satisfies Simulator

const SLOW_DELAY_MS = 2_000

interface SimulatedPlacesPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/**
 * Opens the simulator. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown as the
 * simulator is set.
 */
export function openSimulatedPlaces({ simulators, pacer }: SimulatedPlacesPorts): PlacesProvider {
  let search: TextSearch | null = null
  /** Applies the next outcome; false for `none`. */
  const isFound = async (): Promise<boolean> => {
    const outcome = await simulators.nextOutcome(PLACES_SIMULATOR)
    if (outcome === "unavailable")
      throw new ProviderUnavailable("the simulated address provider answered 503")
    if (outcome === "silent")
      throw new ProviderOutcomeUnknown("the simulated address provider did not answer")
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

/** Splits the house number, before or after the street, from the rest of the input. */
function parseHouseNumber(input: string): { readonly house: string; readonly street: string } {
  const number = String.raw`\d{1,6}(?:-\d{1,6})?[a-z]?`
  const [, before, rest = ""] =
    new RegExp(`^\\s*(${number})[\\s,]+(.*\\p{L}.*)$`, "isu").exec(input) ?? []
  if (before !== undefined) return { house: before.toLowerCase(), street: rest }
  // Five digits at the end are a ZIP code.
  const after = String.raw`\d{1,4}(?:-\d{1,4})?[a-z]?`
  const [, street = input, house = ""] =
    new RegExp(`^(.*\\p{L}.*?)[\\s,]+(${after})\\s*$`, "isu").exec(input) ?? []
  return { house: house.toLowerCase(), street }
}

// A search for texts by words: by prefix, by substring, or with typos. Each word of a query is
// compared with the whole vocabulary, which is small for streets; 12,000 streets take milliseconds
// without a database.

interface TextSearch {
  /** The indexes of the best matches, best first. */
  readonly find: (query: string, limit: number) => readonly number[]
}

/** Share of the query's letters that a match must cover. */
const MIN_MATCH_RATIO = 0.6

/** Creates a search. */
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
    find: (query, limit) => {
      const queryWords = wordsOf(query)
      const letters = queryWords.reduce((sum, { length }) => sum + length, 0)
      if (letters === 0) return []
      // The score of each vocabulary word for each query word, calculated once for all texts.
      const fits = queryWords.map((word) => words.map((one) => matchScore(word, one) * word.length))
      const scores = rows.map((row) =>
        fits.reduce((sum, fit) => sum + row.reduce((best, i) => Math.max(best, fit[i] ?? 0), 0), 0),
      )
      const found = [...scores.keys()].filter((i) => (scores[i] ?? 0) >= letters * MIN_MATCH_RATIO)
      // Of two texts with the same score, the shorter one contains less that was not asked for.
      const better = (a: number, b: number) =>
        (scores[b] ?? 0) - (scores[a] ?? 0) ||
        (texts[a] ?? "").length - (texts[b] ?? "").length ||
        a - b
      return found.toSorted(better).slice(0, limit)
    },
  }
}

/** The score of a word for a typed one, 0 to 1. */
function matchScore(typed: string, word: string): number {
  if (word === typed) return 1
  if (word.startsWith(typed)) return 0.95
  if (typed.length < 3) return 0
  if (word.includes(typed)) return 0.7
  // One typo is allowed, two in words of six or more letters.
  const typos = Math.min(
    countTypos(typed, word),
    // The typed word may be incomplete.
    word.length > typed.length ? countTypos(typed, word.slice(0, typed.length)) : Infinity,
  )
  const allowed = typed.length >= 6 ? 2 : 1
  return typos > allowed ? 0 : 0.9 - typos * 0.1 - (typed[0] === word[0] ? 0 : 0.2)
}

/** Counts typos; two swapped neighbors are one. */
function countTypos(typed: string, word: string): number {
  const edits = distance(typed, word)
  if (edits !== 2 || typed.length !== word.length) return edits
  const at = [...typed].findIndex((letter, i) => letter !== word[i])
  const swapped = `${typed.slice(0, at)}${typed[at + 1]}${typed[at]}${typed.slice(at + 2)}`
  return swapped === word ? 1 : edits
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

// Fictional addresses: every street of twenty fictional towns. Their ZIP codes are not assigned and
// their coordinates are in the open Pacific, so a parcel cannot reach one.

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

interface Street {
  readonly name: string
  readonly town: string
  readonly state: string
  readonly zip: string
}

const streetCache: { streets?: readonly Street[] } = {}

/** All 12,000 streets in a fixed order, built on first use. */
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

/** The address of a house by the street's index; without a house number, of the street. */
function addressAt(index: number, house: string): PlaceAddress | null {
  const street = allStreets()[index]
  if (street === undefined) return null
  const { name, town: city, state, zip } = street
  const line1 = `${house} ${name}`.trim()
  // Around Point Nemo, the farthest point from land.
  const lat = Number((-48.9 + (index % 600) / 1_000).toFixed(6))
  const lng = Number((-123.4 + Math.floor(index / 600) / 1_000).toFixed(6))
  const formatted = `${line1}, ${city}, ${state} ${zip}, US`
  return { line1, city, state, zip, country: "US", lat, lng, formatted }
}
