/** A list route by the size of its table. */
import { PROGRAM } from "../../src/slices.ts"
import { listTexts } from "../../src/phone/list-messages.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import { assertStatuses, openHttpCallers } from "../http/http-callers.ts"
import { openTextingCompany } from "../texts/texting-company.ts"
import type { DataSet } from "./data-set.ts"
import { openDataSet } from "./data-set.ts"
import { fallsBelowPeak } from "./findings.ts"
import type { SizedLine } from "./points.ts"
import { CURVE_DEFAULTS, FLUSH_FIGURE, curveFigures, curveLines, measureAtSizes } from "./points.ts"
import { openSizedTables } from "./sized-tables.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"

const COMPANIES = 10
const CONNECTIONS = 32
const MEASURED_MS = 1_000
const SHOWN = 200
const LINE: SizedLine = {
  name: "lists",
  title: "lists of 200 texts",
  sizes: [10_000, 100_000, 1_000_000, 10_000_000],
  of: "rows in the table",
  unit: "per second",
}

export const listsGrowthBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  name: "growth-lists",
  title: `GET /phone/messages, ${CONNECTIONS} connections, by how many rows the table has`,
  stores: ["postgres"],
  figures: [FLUSH_FIGURE, ...curveFigures([LINE])],
  curves: [
    {
      title: "A list route against the size of its table",
      across: { title: "rows in the table", scale: "log" },
      up: { title: "lists of 200 texts a second", scale: "linear" },
      lines: curveLines([LINE]),
      find: (lines) => lines.map((line) => fallsBelowPeak(line, "rows")),
    },
  ],
  open,
}

type CompanyIds = readonly string[]

async function open(setting: BenchmarkContext): Promise<OpenBenchmark> {
  const set = await openDataSet<CompanyIds>({ name: "lists", formatVersion: 1, empty: [] }, setting)
  const closers: (() => Promise<unknown>)[] = [set.release]
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    const house = await openBenchInstallation(set.databaseDir)
    closers.push(house.close)
    const companies = await companiesOf(house, set)
    const sizes = LINE.sizes.filter((size) => size <= setting.maxSize)
    const tables = await openSizedTables(house.pool, companies, sizes, setting)
    closers.push(tables.restore)
    const callers = openHttpCallers(setting.signal)
    closers.push(callers.close)
    const keys = await Promise.all(companies.map((company) => keyOf(house, company)))
    await house.waitUntilIdle()
    const port = await house.serve(house.ports, PROGRAM.entries)
    const asked = { method: "GET", path: listTexts.url, keys, port } as const
    return {
      measure: {
        flush: () => flushMicroseconds(house.pool),
        ...measureAtSizes(LINE, async (size) => {
          await tables.swapIn(size)
          const first = await listedCount(port, keys[0] ?? "")
          assertMeasurement(first === SHOWN, `${first} texts are listed of ${size}`)
          const answers = await callers.ask({
            ...asked,
            connections: CONNECTIONS,
            forMs: MEASURED_MS,
          })
          assertStatuses(answers, [200])
          return answers.perSecond
        }),
      },
      check: async () => {
        await tables.restore()
        await tables.check()
        house.assertNoWarnings()
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the companies of an earlier run, or creates new ones. */
async function companiesOf(
  house: BenchInstallation,
  set: DataSet<CompanyIds>,
): Promise<CompanyIds> {
  if (set.contents().length > 0) return set.contents()
  await house.operate("price set", { item: "api_call", dollars: "0" })
  const opening = Array.from({ length: COMPANIES }, (_, i) =>
    openTextingCompany(house, `company ${i}`, 1),
  )
  const companies = (await Promise.all(opening)).map(({ companyId }) => companyId)
  await house.waitUntilIdle()
  await set.save(companies)
  return companies
}

/** Keys are not stored, so each run creates its own. */
async function keyOf({ operate }: BenchInstallation, company: string): Promise<string> {
  const { people } = (await operate("person list", { company })) as {
    readonly people: readonly { readonly personId: PersonId }[]
  }
  const person = people[0]?.personId
  return (
    (await operate("key create", { company, person, allOperations: true })) as { key: string }
  ).key
}

async function listedCount(port: number, key: string): Promise<number> {
  const url = `http://127.0.0.1:${port}${listTexts.url}`
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  return ((await answer.json()) as { readonly messages: readonly unknown[] }).messages.length
}
