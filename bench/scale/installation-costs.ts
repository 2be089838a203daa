/** The cost of a text, a charge and an idle company on an installation, jobs and read models included. */
import { setTimeout as pause } from "node:timers/promises"
import { PROGRAM } from "../../src/slices.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { sendText } from "../../src/phone/send-text.ts"
import { assertMeasurement } from "../benchmark.ts"
import { runConcurrentCallers } from "../fixtures/concurrent-callers.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import type { HttpLoad } from "../http/http-load.ts"
import type { HttpCallers } from "../http/http-callers.ts"
import { assertStatuses } from "../http/http-callers.ts"
import { openTextingCompany } from "../texts/texting-company.ts"
import {
  PREPARED_CALLS,
  SPENDING_MS,
  SPENDING_COMPANY_SIZE,
  SPENDING_COMPANIES,
} from "./spending-load.ts"
import type { StorageGrowth, CpuUsage } from "./resource-usage.ts"
import { measureResources, measureCpuUsage } from "./resource-usage.ts"

export interface InstallationCosts {
  /** One text by HTTP: sent, settled and in every list. */
  readonly text: () => Promise<CpuUsage & StorageGrowth>
  /** One charge through the runner, in every list. */
  readonly charge: () => Promise<CpuUsage & StorageGrowth>
  /** Creating one company. */
  readonly company: () => Promise<CpuUsage & StorageGrowth>
  /** A second without calls. */
  readonly idle: () => Promise<CpuUsage>
}

const TEXTING_COMPANIES = 10
const KEYS_EACH = 20
const CONNECTIONS = 64
const REST_S = 2
const CREATED_COMPANIES = 50

/** Opens companies of all three kinds. */
export async function openInstallationCosts(
  house: BenchInstallation,
  callers: HttpCallers,
  signal: AbortSignal,
): Promise<InstallationCosts> {
  const { operate, ports, pool } = house
  await operate("price set", { item: "api_call", dollars: "0" })
  const opening = Array.from({ length: TEXTING_COMPANIES }, (_, i) =>
    openTextingCompany(house, `company ${i}`, KEYS_EACH),
  )
  const keys = (await Promise.all(opening)).flatMap((company) => company.keys)
  const companyStore = { store: ports.store, assertStoredFirst: () => undefined }
  const spending: SpendingCompany[] = []
  for (let i = 0; i < SPENDING_COMPANIES; i += 1) {
    spending.push(
      await openSpendingCompany(companyStore, ports.runner, SPENDING_COMPANY_SIZE, PREPARED_CALLS),
    )
  }
  const { entries, retiredPaths } = PROGRAM
  const port = await house.listen(
    await buildApp(ports, entries, retiredPaths, { rateLimits: "off" }),
  )
  const asking: HttpLoad = {
    method: "POST",
    path: sendText.url,
    isTexting: true,
    connections: CONNECTIONS,
    forMs: SPENDING_MS,
    keys,
    port,
  }
  let companies = TEXTING_COMPANIES
  const settled = async (work: () => Promise<number>): Promise<CpuUsage & StorageGrowth> => {
    await house.waitUntilIdle()
    return measureResources(pool, async () => {
      const count = await work()
      await house.waitUntilIdle()
      return count
    })
  }
  return {
    text: () =>
      settled(async () => {
        const answers = await callers.ask(asking)
        assertStatuses(answers, [200, 429])
        return answers.ids.length
      }),
    charge: () =>
      settled(async () => {
        const one = (own: number) => (spending[own] as SpendingCompany).charge(ports.runner)
        return (await runConcurrentCallers(SPENDING_COMPANIES, one, signal, SPENDING_MS)).count
      }),
    company: () =>
      settled(async () => {
        for (let i = 0; i < CREATED_COMPANIES; i += 1) {
          const name = `idle ${companies + i}`
          assertMeasurement(
            (await operate("company create", { name, funds: "10" })) !== null,
            "no company",
          )
        }
        companies += CREATED_COMPANIES
        return CREATED_COMPANIES
      }),
    idle: async () => {
      await house.waitUntilIdle()
      return measureCpuUsage(pool, async () => {
        await pause(REST_S * 1_000, undefined, { signal })
        return REST_S
      })
    },
  }
}
