/** The work to compare deciding with: a lookup and an addition for each of the same calls. */
import { assertMeasurement } from "../benchmark.ts"
import type { Lap } from "../stopwatch.ts"
import { lap } from "../stopwatch.ts"
import type { CompanySize } from "./generated-company.ts"
import { generateKeys, generatePeople } from "./generated-company.ts"
import { openTraffic } from "./traffic.ts"

export interface BareSums {
  /** Draws the next calls. */
  readonly draw: (calls: number) => void
  /** Adds up the calls drawn last; each step adds them again. */
  readonly step: () => Lap
  /** Checks that everything was added. @throws InvalidMeasurement if a sum is missing */
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
      // Only the looked-up and added values are in memory, in texts that differ from the map's own but are few and soon
      // known. This is the hardest competitor for the measured code.
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

/** Runs `Map.get` and an addition for each call. Returns their number. */
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
