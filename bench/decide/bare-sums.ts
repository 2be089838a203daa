/** What deciding is measured against: a look-up and an addition for each of the same calls. */
import { assertMeasurement } from "../benchmark.ts"
import type { Lap } from "../stopwatch.ts"
import { lap } from "../stopwatch.ts"
import type { CompanySize } from "./generated-company.ts"
import { generateKeys, generatePeople } from "./generated-company.ts"
import { openTraffic } from "./traffic.ts"

/** Sums by key, and nothing else. */
export interface BareSums {
  /** Draws the next calls. */
  readonly draw: (calls: number) => void
  /** Adds up what was drawn last. Again: once more. */
  readonly step: () => Lap
  /** Looks whether everything was added. @throws InvalidMeasurement where a sum is missing */
  readonly check: () => void
}

/** Opens sums for the keys of a company: the calls are those of `openSpending` with this seed. */
export function openBareSums(size: CompanySize, seed: number): BareSums {
  const keys = generateKeys(size, generatePeople(size))
  const places = new Map<string | null, number>(keys.map(({ keyId }, i) => [keyId, i]))
  const asked = generateKeys(size, []).map(({ keyId }) => keyId)
  const sums = new Float64Array(keys.length)
  const traffic = openTraffic(size, seed)
  let keyIds: readonly string[] = []
  let amounts = new Float64Array(0)
  let expectedMicros = 0
  return {
    draw: (calls) => {
      const charges = traffic.charges(calls)
      // Nothing slows this down: only what is looked up and added is at hand, in texts that differ
      // from the map's own but are few and soon known. So what is measured against it has it hard.
      keyIds = charges.map(({ command: { keyId } }) => asked[places.get(keyId) as number] as string)
      amounts = Float64Array.from(charges, ({ command }) => command.amountMicros)
    },
    step: () => {
      expectedMicros += total(amounts)
      return lap(() => addUp(places, sums, keyIds, amounts))
    },
    check: () => {
      const found = total(sums)
      assertMeasurement(
        found === expectedMicros,
        `the bare sums are ${found} instead of ${expectedMicros}`,
      )
    },
  }
}

function total(amounts: Float64Array): number {
  return amounts.reduce((sum, micros) => sum + micros, 0)
}

/** `Map.get` and an addition for each call. Answers how many. */
function addUp(
  places: ReadonlyMap<string | null, number>,
  sums: Float64Array,
  keyIds: readonly string[],
  amounts: Float64Array,
): number {
  for (let i = 0; i < keyIds.length; i += 1) {
    const place = places.get(keyIds[i] as string) as number
    ;(sums[place] as number) += amounts[i] as number
  }
  return keyIds.length
}
