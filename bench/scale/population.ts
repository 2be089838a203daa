/** Companies of a simulation, by a seed: the positions of their tags on a ring, and their shares of spending. */
import { seededRandom } from "../decide/traffic.ts"
import { ringPositionOf } from "./ring.ts"

/**
 * The company at rank r makes charges in proportion to 1 ÷ r^0.86: a fifth of a million companies makes 77 of 100
 * charges, and the largest one 2.3. An assumption, not a measurement.
 */
const SKEW = 0.86
const TAG_DIGITS = 6
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Companies; each is a number from 0. */
export interface Population {
  readonly count: number
  /** The position of each company's tag on a ring. */
  readonly ringPositions: Uint32Array
  /** The share of all charges made by a company and those before it. */
  readonly cumulativeShare: Float64Array
}

/** Draws so many companies. The first ones spend most. */
export function populationOf(count: number, seed: number): Population {
  const random = seededRandom(seed)
  const digit = () => DIGITS[Math.floor(random() * DIGITS.length)] as string
  const ringPositions = Uint32Array.from({ length: count }, () =>
    ringPositionOf(Array.from({ length: TAG_DIGITS }, digit).join("")),
  )
  const cumulativeShare = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i += 1) {
    sum += (i + 1) ** -SKEW
    cumulativeShare[i] = sum
  }
  for (let i = 0; i < count; i += 1) cumulativeShare[i] = (cumulativeShare[i] as number) / sum
  return { count, ringPositions, cumulativeShare }
}

/** The share of all charges made by a company. */
export function chargeShareOf({ cumulativeShare }: Population, company: number): number {
  return (cumulativeShare[company] as number) - (cumulativeShare[company - 1] ?? 0)
}

/** The company of the next charge. @param drawn from 0 to below 1 */
export function companyForCharge({ cumulativeShare, count }: Population, drawn: number): number {
  let [low, high] = [0, count - 1]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((cumulativeShare[middle] as number) <= drawn) low = middle + 1
    else high = middle
  }
  return low
}
