/** The cost of a month's end for an unused company: its month is closed too. */
import { monthEnd } from "../../domain/kernel/window.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import type { StorageGrowth, CpuUsage } from "./resource-usage.ts"
import { measureResources } from "./resource-usage.ts"

/** Companies in an installation whose clock is set. */
export interface MonthEnds {
  /** Ends a month; returns the cost for each company. */
  readonly end: () => Promise<CpuUsage & StorageGrowth>
}

const COMPANIES = 100
const CONCURRENCY = 10
const HOUR_MS = 3_600_000

/** Opens unused companies. @param house an installation on the test clock */
export async function openMonthEnds(
  house: BenchInstallation,
  signal: AbortSignal,
): Promise<MonthEnds> {
  const { operate, ports, pool } = house
  const { setClock } = ports
  assertMeasurement(setClock !== null, "the clock cannot be set")
  for (let i = 0; i < COMPANIES; i += CONCURRENCY) {
    signal.throwIfAborted()
    const names = Array.from({ length: CONCURRENCY }, (_, own) => `company ${i + own}`)
    await Promise.all(names.map((name) => operate("company create", { name, funds: "10" })))
  }
  await house.waitUntilIdle()
  return {
    end: async () => {
      const ended = await measureResources(pool, async () => {
        await setClock(monthEnd(ports.clock.now()) + HOUR_MS)
        await house.waitUntilIdle()
        return COMPANIES
      })
      assertMeasurement(ended.events >= 1, "a month was not closed")
      return ended
    },
  }
}
