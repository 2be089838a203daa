/** What the end of a month costs for a company that nobody uses: its month is closed all the same. */
import { monthEnd } from "../../domain/kernel/window.ts"
import { honest } from "../benchmark.ts"
import type { House } from "../ground/house.ts"
import type { Left, Spent } from "./spent.ts"
import { spentAndLeftBy } from "./spent.ts"

/** Companies in a house whose clock is set. */
export interface Months {
  /** Ends a month; answers what it cost for each company. */
  readonly end: () => Promise<Spent & Left>
}

const COMPANIES = 100
const TOGETHER = 10
const HOUR_MS = 3_600_000

/** Opens companies that nobody uses. @param house its clock is the test's */
export async function openMonths(house: House, signal: AbortSignal): Promise<Months> {
  const { operate, ports, pool } = house
  const { setClock } = ports
  honest(setClock !== null, "the clock cannot be set")
  for (let i = 0; i < COMPANIES; i += TOGETHER) {
    signal.throwIfAborted()
    const names = Array.from({ length: TOGETHER }, (_, own) => `company ${i + own}`)
    await Promise.all(names.map((name) => operate("company create", { name, funds: "10" })))
  }
  await house.settle()
  return {
    end: async () => {
      const ended = await spentAndLeftBy(pool, async () => {
        await setClock(monthEnd(ports.clock.now()) + HOUR_MS)
        await house.settle()
        return COMPANIES
      })
      honest(ended.events >= 1, "a month was not closed")
      return ended
    },
  }
}
