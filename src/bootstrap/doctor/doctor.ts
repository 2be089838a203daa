/** `doctor`: looks at everything that the program stands on, and says how to mend what is wrong. */
import type { Pool } from "pg"
import { z } from "zod"
import {
  openMemoryCheckpoints,
  openPostgresCheckpoints,
} from "../../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../../adapters/postgres/checkpoints/port.ts"
import { machinePacer } from "../../../adapters/machine/clock/clock.ts"
import type { DamagedStream, EventStore } from "../../../adapters/eventstore/port.ts"
import { openInstallationMemory } from "../../../adapters/postgres/installation/postgres.ts"
import { inTime } from "../../../adapters/providers/outside.ts"
import { kyselyOf, openPool } from "../../../adapters/postgres/database.ts"
import { findPrograms } from "../../../adapters/postgres/embedded/programs.ts"
import type { OperatorAnswer } from "../../frame/operator/protocol.ts"
import type { Finding, Stored } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import type { Probe } from "../../frame/http/health.ts"
import { maskedAddress } from "../../frame/kernel/event-store-address.ts"
import { PROGRAM } from "../../slices.ts"
import type { Config } from "../settings/config.ts"
import type { ChosenStore } from "../open/event-store.ts"
import { checkStores, openEventStore } from "../open/event-store.ts"
import { machineFindings } from "./machine.ts"
import { HINTS } from "../open/installation-options.ts"
import { damagedInstallationStreams, repairOf, refuseUnfinished } from "../open/opening-faults.ts"
import { openPostgresCorruptStreams } from "../../../adapters/postgres/corrupt-streams/postgres.ts"
import { corruptText } from "../../frame/writer/corrupt-list.ts"

const STORE_TIMEOUT_MS = 5_000

/** A server that runs on this installation. It has its own settings, which need not be this shell's. */
export interface LivingServer {
  readonly url: string
  /** What it answers to `/readyz`. @throws what the network throws */
  readonly readiness: () => Promise<string>
  /** What it answers to an operation. @throws what the socket throws */
  readonly ask: (operation: string, input: object) => Promise<OperatorAnswer>
}

/** What that answers, of which this needs some. */
const Status = z.object({
  projections: z.array(
    z.object({ name: z.string(), behind: z.int().nullable(), fault: z.string().nullable() }),
  ),
})

/** Looks at everything, one after the other. @param server null where none runs here */
export async function examine(
  config: Config,
  server: LivingServer | null,
): Promise<readonly Finding[]> {
  return [
    ...(await machineFindings(config, server?.url ?? null)),
    ...(await sliceFindings(config, server)),
    ...unreadFindings(config),
    ...(await (server === null ? storeFindings(config) : servedFindings(server))),
  ]
}

/** What the slices find. */
async function sliceFindings(
  { settings, dataDir, databaseUrl }: Config,
  server: LivingServer | null,
): Promise<readonly Finding[]> {
  const look = async (stored: Stored) => {
    const all = PROGRAM.examines.map((one) =>
      one({ settings, dataDir, stored, pacer: machinePacer }),
    )
    return (await Promise.all(all)).flat()
  }
  if (server !== null) {
    const ask = async (operation: string, input: object) => {
      const answer = await server.ask(operation, input)
      if ("error" in answer) throw new Error(answer.error.message)
      return answer.result
    }
    return look({ ask })
  }
  // The embedded PostgreSQL is not started for a look at what it remembers.
  if (databaseUrl === null) return look(null)
  return onPool(databaseUrl, async (pool) => {
    // That it does not answer is a finding of its own.
    const isKnown = await wasStartedOn(pool).catch(() => false)
    return look(isKnown ? { readAll: kyselyOf<unknown>(pool) } : null)
  })
}

/** Opens a pool for some work. @throws what the work throws */
async function onPool<T>(databaseUrl: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = openPool(databaseUrl, 1, () => undefined)
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

/** Whether the program was ever started on a database. @throws the driver's errors */
async function wasStartedOn(pool: Pool): Promise<boolean> {
  const text = "select where to_regclass('ledger.event_store') is not null"
  return (await pool.query(text)).rowCount === 1
}

/** Settings of this shell that nobody reads. */
function unreadFindings({ warnings }: Config): readonly Finding[] {
  const fix = "mend its name, or leave it out"
  return warnings.map((says) => ({ check: "settings", state: "wrong", says, fix }))
}

/** What of the world outside is only pretended. */
function simulatedFinding(names: readonly string[]): Finding {
  const says =
    names.length === 0 ? "nothing" : `${names.join(", ")}: nothing leaves this machine by them`
  return well("simulated", says)
}

/** Where the data is: a PostgreSQL of the operator's own, or the programs of the embedded one. */
async function databaseFinding(databaseUrl: string | null): Promise<Finding> {
  if (databaseUrl === null) {
    return asked("database", "or set DATABASE_URL to a PostgreSQL of your own", async () => {
      const { version } = await findPrograms()
      return `embedded PostgreSQL ${version}`
    })
  }
  return asked("database", "see that it runs, and DATABASE_URL, its user and password", () =>
    onPool(databaseUrl, async (pool) => {
      const { rows } = await pool.query<{ server_version: string }>("show server_version")
      return `PostgreSQL ${rows[0]?.server_version ?? ""}`
    }),
  )
}

/** Whether the event store answers and is the one that the database was made from, and what it holds. */
async function eventStoreFindings(config: Config): Promise<readonly Finding[]> {
  const { databaseUrl, eventStoreUrl } = config
  const inside = "inside the database"
  // The embedded PostgreSQL is not started for a look at what it remembers.
  if (databaseUrl === null && eventStoreUrl === null) return [well("event store", inside)]
  let streams: readonly Finding[] = []
  const found = await asked(
    "event store",
    "see that it runs, and LEDGER_EVENTSTORE_URL",
    async () => {
      const chosen = await openEventStore(databaseUrl ?? "", eventStoreUrl)
      try {
        const looking = databaseUrl === null ? lookInto(chosen) : askAsStart(databaseUrl, chosen)
        streams = await inTime(machinePacer, "the event store", looking, STORE_TIMEOUT_MS)
        return eventStoreUrl === null ? inside : maskedAddress(eventStoreUrl)
      } finally {
        await chosen.store.close()
      }
    },
  )
  if (found.state !== "ok" || databaseUrl !== null) return [found, ...streams]
  const says = `${found.says}; not compared with the embedded database, which does not run`
  const fix = "start the server: it compares them"
  return [{ ...found, state: "missing", says, fix }, ...streams]
}

/** Looks at an event store whose database does not run. */
async function lookInto({ store }: ChosenStore): Promise<readonly Finding[]> {
  await store.head()
  return [await installationStreamsFinding(store, openMemoryCheckpoints())]
}

/** Asks what a start asks of a database and its event store. @throws what a start would */
function askAsStart(databaseUrl: string, chosen: ChosenStore): Promise<readonly Finding[]> {
  return onPool(databaseUrl, async (pool) => {
    if (!(await wasStartedOn(pool))) return []
    const memory = openInstallationMemory(pool, HINTS)
    await refuseUnfinished(memory)
    await checkStores(pool, memory, chosen)
    const checkpoints = openPostgresCheckpoints(pool)
    return [
      await installationStreamsFinding(chosen.store, checkpoints),
      ...(await listedFindings(pool)),
    ]
  })
}

/** Whether the streams that no company owns are whole. */
async function installationStreamsFinding(
  store: EventStore,
  checkpoints: Checkpoints,
): Promise<Finding> {
  const check = "streams"
  const damaged = await damagedInstallationStreams({ store, checkpoints }, PROGRAM.streams)
  if (damaged.length === 0) return well(check, "those that no company owns are whole")
  const says = damaged.map(({ message }) => message).join("; ")
  return { check, state: "wrong", says, fix: repairOf(damaged[0] as DamagedStream, store) }
}

/** What a store says of itself; where it does not answer, that is the finding. */
async function asked(check: string, fix: string, ask: () => Promise<string>): Promise<Finding> {
  try {
    return well(check, await ask())
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    return { check, state: "wrong", says, fix }
  }
}

/** The stores as this shell's settings name them, where no server says how it finds them. */
async function storeFindings(config: Config): Promise<readonly Finding[]> {
  return [
    await databaseFinding(config.databaseUrl),
    ...(await eventStoreFindings(config)),
    well("read models", "not looked at: no server runs here"),
    simulatedFinding(config.simulated.names),
  ]
}

/** What the server says of what it stands on. */
async function servedFindings(server: LivingServer): Promise<readonly Finding[]> {
  const ready = await asked("server", "see its log", server.readiness)
  if (ready.state !== "ok") return [ready]
  const lines = ready.says.split("\n")
  const stores = ["database", "event store", "clock"].map((check) => servedFinding(check, lines))
  const isServing = stores.every(({ state }) => state === "ok")
  // Without its database nobody knows how the read models stand.
  if (!isServing) return stores
  const simulated = told(lines, ["ok", "warn"], "simulated")?.split(", ") ?? []
  return [
    ...stores,
    streamsFinding(lines),
    workFinding(lines),
    ...PROGRAM.probes.map((probe) => probeFinding(probe, lines)),
    ...(await readModelFindings(server)),
    simulatedFinding(simulated),
  ]
}

/** What the server says of a thing behind one of these words; null where it does not. */
function told(lines: readonly string[], states: readonly string[], check: string): string | null {
  const begins = states.map((state) => `${state} ${check} `)
  for (const line of lines) {
    const begin = begins.find((one) => line.startsWith(one))
    if (begin !== undefined) return line.slice(begin.length)
  }
  return null
}

function workFinding(lines: readonly string[]): Finding {
  const check = "work"
  const says = told(lines, ["warn"], check)
  if (says === null) return well(check, "none waits for an operator")
  const fix =
    "company-ledger job list names it; job retry does it once more, job discard gives it up"
  return { check, state: "wrong", says, fix }
}

/** What a slice's probe says in the server. */
function probeFinding({ name: check, fix }: Probe, lines: readonly string[]): Finding {
  const says = told(lines, ["warn", "fail"], check)
  return says === null ? well(check, "nothing is wrong") : { check, state: "wrong", says, fix }
}

function streamsFinding(lines: readonly string[]): Finding {
  return corruptFinding(told(lines, ["warn"], "streams"))
}

function servedFinding(check: string, lines: readonly string[]): Finding {
  const isServed = lines.some((one) => one === `ok ${check}` || one.startsWith(`warn ${check} `))
  if (isServed) return well(check, "answers the server")
  const says = told(lines, ["fail"], check) ?? "the server does not tell"
  return { check, state: "wrong", says, fix: "see that it runs; the log of the server says more" }
}

async function readModelFindings({ ask }: LivingServer): Promise<readonly Finding[]> {
  const check = "read models"
  const answer = await ask("projections status", {})
  if ("error" in answer) {
    const fix = "see the log of the server"
    return [{ check, state: "wrong", says: answer.error.message, fix }]
  }
  const { projections: models } = Status.parse(answer.result)
  const stopped = models.filter(({ fault }) => fault !== null)
  if (stopped.length === 0) {
    const behind = models.reduce((sum, one) => sum + (one.behind ?? 0), 0)
    return [well(check, `${models.length} kept up, ${behind} facts behind`)]
  }
  return stopped.map(({ name, fault }) => {
    const fix = `mend what it names, then company-ledger projections rebuild ${name}`
    return { check, state: "wrong", says: `${name} stopped: ${fault ?? ""}`, fix }
  })
}

/** What a server says about the streams that it holds back; null where it holds back none. */
function corruptFinding(says: string | null): Finding {
  const check = "streams"
  if (says === null) return well(check, "none was found corrupt")
  const fix =
    "company-ledger projections status says why, audit verify names the first broken place; " +
    "docs/eventstoredb.md says how to repair it (a checkpoint is no repair)"
  return { check, state: "wrong", says, fix }
}

/** The corrupt streams that a database lists; no finding where it lists none. */
async function listedFindings(pool: Pool): Promise<readonly Finding[]> {
  const { rows } = await pool.query<{ there: boolean }>(
    "select to_regclass('ledger.corrupt_streams') is not null as there",
  )
  // A start makes the table in a database of a former version.
  if (rows[0]?.there !== true) return []
  const listed = await openPostgresCorruptStreams(pool).all()
  return listed.length === 0 ? [] : [corruptFinding(listed.map(corruptText).join("; "))]
}
