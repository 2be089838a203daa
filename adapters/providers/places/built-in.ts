/**
 * The built-in addresses: they need nothing and are nowhere. What they do next can be set
 * (`simulator set places …`).
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { Simulator, Simulators } from "../simulators/port.ts"
import type { Places, Suggestion } from "./port.ts"
import { MOST_SUGGESTIONS } from "./port.ts"
import type { TextSearch } from "./search.ts"
import { searchOver } from "./search.ts"
import { allStreets, addressIn } from "./streets.ts"

/** What they can be told to do. */
export const PLACES = { name: "places", outcomes: ["none"] } as const satisfies Simulator

const SLOW_MS = 2_000

/** What they work with. */
export interface BuiltInPlacesPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** The built-in addresses. Their calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInPlaces({ simulators, pacer }: BuiltInPlacesPorts): Places {
  let search: TextSearch | null = null
  /** Whether there is something to be found, as it is set. */
  const isFound = async (): Promise<boolean> => {
    const outcome = await simulators.next(PLACES)
    if (outcome === "unavailable") throw new ProviderUnavailable("the addresses answered 503")
    if (outcome === "silent") throw new ProviderSilent("the addresses did not answer")
    if (outcome === "slow") await pacer.pause(SLOW_MS)
    return outcome !== "none"
  }
  return {
    hasSessions: false,
    suggest: async (input) => {
      if (!(await isFound())) return []
      search ??= searchOver(
        allStreets().map(({ name, town, state, zip }) => `${name} ${town} ${state} ${zip}`),
      )
      const { house, street } = houseIn(input)
      return search.find(street, MOST_SUGGESTIONS).flatMap((index): readonly Suggestion[] => {
        const address = addressIn(index, house)
        if (address === null) return []
        const { line1: main, city, state, zip } = address
        const placeId = `demo_${index}${house === "" ? "" : `_${house}`}`
        return [{ placeId, main, secondary: `${city}, ${state} ${zip}` }]
      })
    },
    details: async (placeId) => {
      if (!(await isFound())) return null
      const [, index, house = ""] =
        /^demo_(\d{1,5})(?:_(\d{1,6}(?:-\d{1,6})?[a-z]?))?$/.exec(placeId) ?? []
      return index === undefined ? null : addressIn(Number(index), house)
    },
  }
}

/** The number of a house before or behind its street, kept as it was typed, and the rest. */
function houseIn(input: string): { readonly house: string; readonly street: string } {
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
