/** How often the faults are tried, and from which seed; `LEDGER_DEEP=1` tries them for minutes. */
import { randomInt } from "node:crypto"
import process from "node:process"

/** Whether there is time for many rounds. */
const isDeep = process.env["LEDGER_DEEP"] === "1"

/** So many, or so many where there is time. */
export function roundsOf(usual: number, deep: number): number {
  return isDeep ? deep : usual
}

/** Numbers that follow from a seed; a run that failed is run again with `LEDGER_SEED`. */
export interface Chance {
  readonly seed: number
  /** A whole number from `least` to `most`, both included. */
  readonly between: (least: number, most: number) => number
}

/** Begins anew, from `LEDGER_SEED` where that is set. */
export function newChance(): Chance {
  const seed = Number(process.env["LEDGER_SEED"] ?? randomInt(2 ** 31))
  let state = seed
  return {
    seed,
    between: (least, most) => {
      // A linear congruential generator: nobody guards anything with it.
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return least + Math.floor((state / 2 ** 32) * (most - least + 1))
    },
  }
}
