/** `doctor`: looks at everything that the program stands on, and says how to mend what is wrong. */
import type { Pool } from "pg"
import { z } from "zod"
import {
  openMemoryCheckpoints,
  openPostgresCheckpoints,
} from "../../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../../adapters/postgres/checkpoints/port.ts"
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import type { CorruptStream, EventStore } from "../../../adapters/eventstore/port.ts"
import { openInstallationState } from "../../../adapters/postgres/installation/postgres.ts"
import { withProviderTimeout } from "../../../adapters/providers/provider-errors.ts"
import { kyselyOf, openPool } from "../../../adapters/postgres/database.ts"
import { findPostgresPrograms } from "../../../adapters/postgres/embedded/programs.ts"
import type { OperatorAnswer } from "../../frame/operator/protocol.ts"
import type { DoctorFinding, DoctorStore } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"
import type { Probe } from "../../frame/http/health.ts"
import { maskEventStoreAddress } from "../../frame/kernel/event-store-address.ts"
import { PROGRAM } from "../../slices.ts"
import type { Config } from "../settings/config.ts"
import type { ConfiguredStore } from "../open/event-store.ts"
import { checkStores, openEventStore } from "../open/event-store.ts"
import { machineFindings } from "./machine.ts"
import { JOB_PROJECTIONS } from "../open/installation-options.ts"
import {
  corruptInstallationStreams,
  repairHint,
  rejectUnfinishedRestore,
} from "../open/startup-faults.ts"
import { openPostgresCorruptStreams } from "../../../adapters/postgres/corrupt-streams/postgres.ts"
import { corruptStreamText } from "../../frame/writer/corrupt-list.ts"

const STORE_TIMEOUT_MS = 5_000

/** A server that runs on this installation. It has its own settings, which need not be this shell's. */
export interface RunningServerClient {
  readonly url: string
  /** What it answers to `/readyz`. @throws what the network throws */
  readonly readiness: () => Promise<string>
  /** What it answers to an operation. @throws what the socket throws */
  readonly ask: (operation: string, input: object) => Promise<OperatorAnswer>
}

/** What that answers, of which this needs some. */
const ProjectionStatusReply = z.object({
  projections: z.array(
    z.object({ name: z.string(), behind: z.int().nullable(), fault: z.string().nullable() }),
  ),
})

/** Looks at everything, one after the other. @param server null where none runs here */
export async function runDoctor(
  config: Config,
  server: RunningServerClient | null,
): Promise<readonly DoctorFinding[]> {
  return [
    ...(await machineFindings(config, server?.url ?? null)),
    ...(await sliceFindings(config, server)),
    ...unknownSettingFindings(config),
    ...(await (server === null ? storeFindings(config) : serverFindings(server))),
  ]
}

/** What the slices find. */
async function sliceFindings(
  { settings, dataDir, databaseUrl }: Config,
  server: RunningServerClient | null,
): Promise<readonly DoctorFinding[]> {
  const look = async (stored: DoctorStore) => {
    const all = PROGRAM.doctorChecks.map((one) =>
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
  return withPool(databaseUrl, async (pool) => {
    // That it does not answer is a finding of its own.
    const isKnown = await isInitialized(pool).catch(() => false)
    return look(isKnown ? { readAll: kyselyOf<unknown>(pool) } : null)
  })
}

/** Opens a pool for some work. @throws what the work throws */
async function withPool<T>(databaseUrl: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = openPool(databaseUrl, 1, () => undefined)
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

/** Whether the program was ever started on a database. @throws the driver's errors */
async function isInitialized(pool: Pool): Promise<boolean> {
  const text = "select where to_regclass('ledger.event_store') is not null"
  return (await pool.query(text)).rowCount === 1
}

/** Settings of this shell that nobody reads. */
function unknownSettingFindings({ warnings }: Config): readonly DoctorFinding[] {
  const fix = "mend its name, or leave it out"
  return warnings.map((says) => ({ check: "settings", state: "wrong", says, fix }))
}

/** What of the world outside is only pretended. */
function simulatedFinding(names: readonly string[]): DoctorFinding {
  const says =
    names.length === 0 ? "nothing" : `${names.join(", ")}: nothing leaves this machine by them`
  return okFinding("simulated", says)
}

/** Where the data is: a PostgreSQL of the operator's own, or the programs of the embedded one. */
async function databaseFinding(databaseUrl: string | null): Promise<DoctorFinding> {
  if (databaseUrl === null) {
    return findingFrom("database", "or set DATABASE_URL to a PostgreSQL of your own", async () => {
      const { version } = await findPostgresPrograms()
      return `embedded PostgreSQL ${version}`
    })
  }
  return findingFrom("database", "see that it runs, and DATABASE_URL, its user and password", () =>
    withPool(databaseUrl, async (pool) => {
      const { rows } = await pool.query<{ server_version: string }>("show server_version")
      return `PostgreSQL ${rows[0]?.server_version ?? ""}`
    }),
  )
}

/** Whether the event store answers and is the one that the database was made from, and what it holds. */
async function eventStoreFindings(config: Config): Promise<readonly DoctorFinding[]> {
  const { databaseUrl, eventStoreUrl } = config
  const inside = "inside the database"
  // The embedded PostgreSQL is not started for a look at what it remembers.
  if (databaseUrl === null && eventStoreUrl === null) return [okFinding("event store", inside)]
  let streams: readonly DoctorFinding[] = []
  const found = await findingFrom(
    "event store",
    "see that it runs, and LEDGER_EVENTSTORE_URL",
    async () => {
      const chosen = await openEventStore(databaseUrl ?? "", eventStoreUrl)
      try {
        const looking =
          databaseUrl === null ? checkStoreOnly(chosen) : checkAsStartup(databaseUrl, chosen)
        streams = await withProviderTimeout(
          machinePacer,
          "the event store",
          looking,
          STORE_TIMEOUT_MS,
        )
        return eventStoreUrl === null ? inside : maskEventStoreAddress(eventStoreUrl)
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
async function checkStoreOnly({ store }: ConfiguredStore): Promise<readonly DoctorFinding[]> {
  await store.head()
  return [await installationStreamsFinding(store, openMemoryCheckpoints())]
}

/** Asks what a start asks of a database and its event store. @throws what a start would */
function checkAsStartup(
  databaseUrl: string,
  chosen: ConfiguredStore,
): Promise<readonly DoctorFinding[]> {
  return withPool(databaseUrl, async (pool) => {
    if (!(await isInitialized(pool))) return []
    const memory = openInstallationState(pool, JOB_PROJECTIONS)
    await rejectUnfinishedRestore(memory)
    await checkStores(pool, memory, chosen)
    const checkpoints = openPostgresCheckpoints(pool)
    return [
      await installationStreamsFinding(chosen.store, checkpoints),
      ...(await corruptStreamFindings(pool)),
    ]
  })
}

/** Whether the streams that no company owns are whole. */
async function installationStreamsFinding(
  store: EventStore,
  checkpoints: Checkpoints,
): Promise<DoctorFinding> {
  const check = "streams"
  const damaged = await corruptInstallationStreams({ store, checkpoints }, PROGRAM.streams)
  if (damaged.length === 0) return okFinding(check, "those that no company owns are whole")
  const says = damaged.map(({ message }) => message).join("; ")
  return { check, state: "wrong", says, fix: repairHint(damaged[0] as CorruptStream, store) }
}

/** What a store says of itself; where it does not answer, that is the finding. */
async function findingFrom(
  check: string,
  fix: string,
  ask: () => Promise<string>,
): Promise<DoctorFinding> {
  try {
    return okFinding(check, await ask())
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    return { check, state: "wrong", says, fix }
  }
}

/** The stores as this shell's settings name them, where no server says how it finds them. */
async function storeFindings(config: Config): Promise<readonly DoctorFinding[]> {
  return [
    await databaseFinding(config.databaseUrl),
    ...(await eventStoreFindings(config)),
    okFinding("read models", "not looked at: no server runs here"),
    simulatedFinding(config.simulatedProviders.names),
  ]
}

/** What the server says of what it stands on. */
async function serverFindings(server: RunningServerClient): Promise<readonly DoctorFinding[]> {
  const ready = await findingFrom("server", "see its log", server.readiness)
  if (ready.state !== "ok") return [ready]
  const lines = ready.says.split("\n")
  const stores = ["database", "event store", "clock"].map((check) =>
    dependencyFinding(check, lines),
  )
  const isServing = stores.every(({ state }) => state === "ok")
  // Without its database nobody knows how the read models stand.
  if (!isServing) return stores
  const simulated = statusText(lines, ["ok", "warn"], "simulated")?.split(", ") ?? []
  return [
    ...stores,
    servedStreamsFinding(lines),
    jobFinding(lines),
    ...PROGRAM.probes.map((probe) => probeFinding(probe, lines)),
    ...(await readModelFindings(server)),
    simulatedFinding(simulated),
  ]
}

/** What the server says of a thing behind one of these words; null where it does not. */
function statusText(
  lines: readonly string[],
  states: readonly string[],
  check: string,
): string | null {
  const begins = states.map((state) => `${state} ${check} `)
  for (const line of lines) {
    const begin = begins.find((one) => line.startsWith(one))
    if (begin !== undefined) return line.slice(begin.length)
  }
  return null
}

function jobFinding(lines: readonly string[]): DoctorFinding {
  const check = "work"
  const says = statusText(lines, ["warn"], check)
  if (says === null) return okFinding(check, "none waits for an operator")
  const fix =
    "company-ledger job list names it; job retry does it once more, job discard gives it up"
  return { check, state: "wrong", says, fix }
}

/** What a slice's probe says in the server. */
function probeFinding({ name: check, fix }: Probe, lines: readonly string[]): DoctorFinding {
  const says = statusText(lines, ["warn", "fail"], check)
  return says === null ? okFinding(check, "nothing is wrong") : { check, state: "wrong", says, fix }
}

function servedStreamsFinding(lines: readonly string[]): DoctorFinding {
  return corruptFinding(statusText(lines, ["warn"], "streams"))
}

function dependencyFinding(check: string, lines: readonly string[]): DoctorFinding {
  const isServed = lines.some((one) => one === `ok ${check}` || one.startsWith(`warn ${check} `))
  if (isServed) return okFinding(check, "answers the server")
  const says = statusText(lines, ["fail"], check) ?? "the server does not tell"
  return { check, state: "wrong", says, fix: "see that it runs; the log of the server says more" }
}

async function readModelFindings({ ask }: RunningServerClient): Promise<readonly DoctorFinding[]> {
  const check = "read models"
  const answer = await ask("projections status", {})
  if ("error" in answer) {
    const fix = "see the log of the server"
    return [{ check, state: "wrong", says: answer.error.message, fix }]
  }
  const { projections: models } = ProjectionStatusReply.parse(answer.result)
  const stopped = models.filter(({ fault }) => fault !== null)
  if (stopped.length === 0) {
    const behind = models.reduce((sum, one) => sum + (one.behind ?? 0), 0)
    return [okFinding(check, `${models.length} kept up, ${behind} facts behind`)]
  }
  return stopped.map(({ name, fault }) => {
    const fix = `mend what it names, then company-ledger projections rebuild ${name}`
    return { check, state: "wrong", says: `${name} stopped: ${fault ?? ""}`, fix }
  })
}

/** What a server says about the streams that it holds back; null where it holds back none. */
function corruptFinding(says: string | null): DoctorFinding {
  const check = "streams"
  if (says === null) return okFinding(check, "none was found corrupt")
  const fix =
    "company-ledger projections status says why, audit verify names the first broken place; " +
    "docs/eventstoredb.md says how to repair it (a checkpoint is no repair)"
  return { check, state: "wrong", says, fix }
}

/** The corrupt streams that a database lists; no finding where it lists none. */
async function corruptStreamFindings(pool: Pool): Promise<readonly DoctorFinding[]> {
  const { rows } = await pool.query<{ there: boolean }>(
    "select to_regclass('ledger.corrupt_streams') is not null as there",
  )
  // A start makes the table in a database of a former version.
  if (rows[0]?.there !== true) return []
  const listed = await openPostgresCorruptStreams(pool).list()
  return listed.length === 0 ? [] : [corruptFinding(listed.map(corruptStreamText).join("; "))]
}
