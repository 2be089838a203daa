/** Ratios 10 and 12: the cost of row-level security and of counting for a call that reads. */
import { PROGRAM } from "../../src/slices.ts"
import { readAffiliate } from "../../src/affiliate/read-affiliate.ts"
import { listTexts } from "../../src/phone/list-messages.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { onInstallation } from "../fixtures/on-installation.ts"
import type { HttpCallers } from "../http/http-callers.ts"
import { assertStatuses } from "../http/http-callers.ts"
import type { TextingCompany } from "../texts/texting-company.ts"
import { openTextingCompany } from "../texts/texting-company.ts"
import { checkRowSecurity, insertTexts } from "./text-rows.ts"

const COMPANIES = 20
const KEYS_EACH = 3
const TEXTS_EACH = 1_000
const CONNECTIONS = 64
/** Short and repeated, because other work on the machine varies. */
const MEASURED_MS = 500
/** An empty list: the minimum cost of a read. */
const NOTHING = `${listTexts.url}?since=2100-01-01T00:00:00Z`

export const readsBenchmark: Benchmark = {
  name: "reads",
  title: `GET requests of ${COMPANIES} companies, ${CONNECTIONS} connections`,
  stores: ["postgres"],
  rounds: 11,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "secured", title: "lists of 200 texts, with row-level security", unit: "per second" },
    { name: "bare", title: "the same without", unit: "per second" },
    { name: "securedNone", title: "empty lists, with row-level security", unit: "per second" },
    { name: "bareNone", title: "the same without", unit: "per second" },
    { name: "counted", title: "GET requests that need no database, counted", unit: "per second" },
    { name: "uncounted", title: "the same, not counted", unit: "per second" },
  ],
  ratios: [
    {
      id: "10",
      title: "a list route with row-level security ÷ without",
      of: "secured",
      per: "bare",
      better: "more",
      target: 0.9,
      floor: 0.8,
    },
    {
      id: "10 empty",
      title: "the same where there is nothing to list",
      of: "securedNone",
      per: "bareNone",
      better: "more",
      target: null,
      floor: null,
    },
    {
      id: "12",
      title: "counted GET requests ÷ the same, not counted",
      of: "counted",
      per: "uncounted",
      better: "more",
      target: 0.9,
      floor: 0.8,
    },
  ],
  open: onInstallation(openOn),
}

async function openOn(
  house: BenchInstallation,
  callers: HttpCallers,
  { report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { operate, ports, pool } = house
  await operate("price set", { item: "api_call", dollars: "0" })
  report(`reads: opening ${COMPANIES} companies`)
  const opening = Array.from({ length: COMPANIES }, (_, i) =>
    openTextingCompany(house, `company ${i}`, KEYS_EACH),
  )
  const companies = await Promise.all(opening)
  await house.waitUntilIdle()
  await insertTexts(pool, companies, TEXTS_EACH)
  await checkRowSecurity(ports, companies)

  const unsecured = { ...ports, readAs: readAsOwner(ports.readAll) }
  const uncounted = PROGRAM.entries.map((route) => ({ ...route, counted: false }))
  const port = await house.serve(ports, PROGRAM.entries)
  const unsecuredPort = await house.serve(unsecured, PROGRAM.entries)
  const uncountedPort = await house.serve(ports, uncounted)
  const keys = companies.flatMap((company) => company.keys)
  const common = { method: "GET", keys, connections: CONNECTIONS, forMs: MEASURED_MS } as const

  let answered = 0
  const measured = (path: string, ofPort: number) => async (): Promise<number> => {
    const answers = await callers.ask({ ...common, path, port: ofPort })
    assertStatuses(answers, [200])
    if (ofPort !== uncountedPort) answered += answers.statuses[200] ?? 0
    return answers.perSecond
  }
  return {
    measure: {
      flush: () => flushMicroseconds(pool),
      secured: measured(listTexts.url, port),
      bare: measured(listTexts.url, unsecuredPort),
      securedNone: measured(NOTHING, port),
      bareNone: measured(NOTHING, unsecuredPort),
      counted: measured(readAffiliate.url, port),
      uncounted: measured(readAffiliate.url, uncountedPort),
    },
    check: async () => {
      const counts = await Promise.all(companies.map((company) => countedCalls(house, company)))
      const counted = counts.reduce((sum, count) => sum + count, 0)
      assertMeasurement(
        counted === answered,
        `${answered} calls were answered, ${counted} are counted`,
      )
      house.assertNoWarnings()
    },
  }
}

/** Reads as the owner of the tables, who sees the rows of all companies. */
function readAsOwner(
  readAll: BenchInstallation["ports"]["readAll"],
): BenchInstallation["ports"]["readAs"] {
  return (_companyId, query) => query(readAll)
}

async function countedCalls(
  { operate }: BenchInstallation,
  { companyId }: Pick<TextingCompany, "companyId">,
): Promise<number> {
  const { counts: tallies } = (await operate("calls list", { company: companyId })) as {
    readonly counts: readonly { readonly calls: number }[]
  }
  return tallies.reduce((sum, { calls }) => sum + calls, 0)
}
