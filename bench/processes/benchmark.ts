/** The throughput of multiple processes compared with one: texts of many companies, by real servers. */
import { openPool } from "../../adapters/postgres/database.ts"
import { startEmbeddedPostgres } from "../../adapters/postgres/embedded/start-embedded.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import { openDatabaseFolder } from "../fixtures/database-folder.ts"
import type { ServerUnderLoad } from "./server-under-load.ts"
import { openServerUnderLoad } from "./server-under-load.ts"

const COMPANIES = 16
const LOAD_MS = 12_000
const COUNTS = [1, 2, 4] as const
const WORDS = { 1: "one process", 2: "two processes", 4: "four processes" } as const

export const processesBenchmark: Benchmark = {
  name: "processes",
  title: `texts of ${COMPANIES} companies by 1, 2 and 4 processes of this machine`,
  stores: ["postgres"],
  rounds: 3,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    ...COUNTS.flatMap((count) => [
      { name: `texts${count}`, title: `texts by ${WORDS[count]}`, unit: "per second" as const },
      { name: `program${count}`, title: "core time of the program a text", unit: "ms" as const },
      { name: `database${count}`, title: "core time of PostgreSQL a text", unit: "ms" as const },
    ]),
  ],
  ratios: ([2, 4] as const).map((count) => ({
    id: `${count} processes`,
    title: `texts by ${WORDS[count]} ÷ by one`,
    of: `texts${count}`,
    per: "texts1",
    better: "more" as const,
    target: count === 2 ? 0.95 : null,
    floor: null,
  })),
  open: openProcesses,
}

async function openProcesses({ signal, report }: BenchmarkContext): Promise<OpenBenchmark> {
  const servers = new Map<number, ServerUnderLoad>()
  const { dataDir, remove } = await openDatabaseFolder(null)
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined })
  const pool = openPool(postgres.url, 1, () => undefined)
  const close = async (): Promise<void> => {
    for (const server of servers.values()) await server.close()
    await pool.end()
    await postgres.stop()
    await remove()
  }
  try {
    for (const count of COUNTS) {
      report(`processes: opening ${COMPANIES} companies on ${WORDS[count]}`)
      servers.set(count, await openServerUnderLoad(count, COMPANIES, signal))
    }
  } catch (error) {
    await close()
    throw error
  }
  const measure = COUNTS.flatMap((count) => {
    const server = servers.get(count) as ServerUnderLoad
    let each = { program: Number.NaN, database: Number.NaN }
    const texts = async () => {
      const loaded = await server.sendTexts(LOAD_MS)
      each = loaded.each
      return loaded.perSecond
    }
    return [
      [`texts${count}`, texts],
      [`program${count}`, async () => each.program],
      [`database${count}`, async () => each.database],
    ] as const
  })
  return {
    measure: { flush: () => flushMicroseconds(pool), ...Object.fromEntries(measure) },
    check: async () => {
      for (const server of servers.values()) await server.check()
    },
    close,
  }
}
