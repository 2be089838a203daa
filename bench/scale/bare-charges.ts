/** What a charge costs where nothing follows from it: no list, no work, no process that reads it. */
import { callTogether } from "../ground/callers.ts"
import type { SpendingCompany } from "../ground/company.ts"
import { openCompany } from "../ground/company.ts"
import type { Ground } from "../ground/ground.ts"
import type { Spent } from "./spent.ts"
import { spentBy } from "./spent.ts"
import { DRAWN, FOR_MS, SIZE, SPENDING } from "./spending.ts"

/** Companies that spend on a store that nothing follows. */
export interface BareCharges {
  readonly measure: () => Promise<Spent>
  readonly check: () => Promise<void>
}

/** Opens them. */
export async function openBareCharges(ground: Ground, signal: AbortSignal): Promise<BareCharges> {
  const runner = ground.newRunner()
  const companies: SpendingCompany[] = []
  for (let i = 0; i < SPENDING; i += 1) {
    companies.push(await openCompany(ground, runner, SIZE, DRAWN))
  }
  return {
    measure: () =>
      spentBy(ground.pool, async () => {
        const one = (own: number) => (companies[own] as SpendingCompany).charge(runner)
        return (await callTogether(SPENDING, one, signal, FOR_MS)).count
      }),
    check: async () => {
      for (const company of companies) await company.check(runner)
    },
  }
}
