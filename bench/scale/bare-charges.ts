/** The cost of a charge without consequences: no list, no jobs, no process that reads it. */
import { runConcurrentCallers } from "../fixtures/concurrent-callers.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import type { CpuUsage } from "./resource-usage.ts"
import { measureCpuUsage } from "./resource-usage.ts"
import {
  PREPARED_CALLS,
  SPENDING_MS,
  SPENDING_COMPANY_SIZE,
  SPENDING_COMPANIES,
} from "./spending-load.ts"

/** Companies that spend on a store without followers. */
export interface BareCharges {
  readonly measure: () => Promise<CpuUsage>
  readonly check: () => Promise<void>
}

/** Opens the companies. */
export async function openBareCharges(
  ground: StoreEnvironment,
  signal: AbortSignal,
): Promise<BareCharges> {
  const runner = ground.newRunner()
  const companies: SpendingCompany[] = []
  for (let i = 0; i < SPENDING_COMPANIES; i += 1) {
    companies.push(await openSpendingCompany(ground, runner, SPENDING_COMPANY_SIZE, PREPARED_CALLS))
  }
  return {
    measure: () =>
      measureCpuUsage(ground.pool, async () => {
        const one = (own: number) => (companies[own] as SpendingCompany).charge(runner)
        return (await runConcurrentCallers(SPENDING_COMPANIES, one, signal, SPENDING_MS)).count
      }),
    check: async () => {
      for (const company of companies) await company.check(runner)
    },
  }
}
