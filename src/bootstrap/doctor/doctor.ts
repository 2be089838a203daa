/** `doctor`: checks everything the program depends on, and says how to fix what is wrong. */
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

/** A server that runs on this installation. Its settings can differ from this shell's. */
export interface RunningServerClient {
  readonly url: string
  /** Its answer to `/readyz`. @throws the network's errors */
  readonly readiness: () => Promise<string>
  /** Its answer to an operation. @throws the socket's errors */
  readonly ask: (operation: string, input: object) => Promise<OperatorAnswer>
}

/** The fields of that answer that doctor needs. */
const ProjectionStatusReply = z.object({
  projections: z.array(
    z.object({ name: z.string(), behind: z.int().nullable(), fault: z.string().nullable() }),
  ),
})

/** Runs all checks, one after the other. @param server null if none runs here */
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
  // The embedded PostgreSQL is not started for a check.
  if (databaseUrl === null) return look(null)
  return withPool(databaseUrl, async (pool) => {
    // An unreachable database is a finding of its own.
    const isKnown = await isInitialized(pool).catch(() => false)
    return look(isKnown ? { readAll: kyselyOf<unknown>(pool) } : null)
  })
}

/** Opens a pool for some work. @throws the errors of the work */
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

function unknownSettingFindings({ warnings }: Config): readonly DoctorFinding[] {
  const fix = "correct the name, or remove it"
  return warnings.map((says) => ({ check: "settings", state: "wrong", says, fix }))
}

function simulatedFinding(names: readonly string[]): DoctorFinding {
  const says =
    names.length === 0
      ? "no provider is simulated"
      : `${names.join(", ")}: nothing leaves this machine`
  return okFinding("simulated", says)
}

/** Checks the database: an external PostgreSQL, or the programs of the embedded one. */
async function databaseFinding(databaseUrl: string | null): Promise<DoctorFinding> {
  if (databaseUrl === null) {
    const fix = "do what the message says, or set DATABASE_URL to an external PostgreSQL"
    return findingFrom("database", fix, async () => {
      const { version } = await findPostgresPrograms()
      return `embedded PostgreSQL ${version}`
    })
  }
  return findingFrom(
    "database",
    "check that it runs, and DATABASE_URL, its user and password",
    () =>
      withPool(databaseUrl, async (pool) => {
        const { rows } = await pool.query<{ server_version: string }>("show server_version")
        return `PostgreSQL ${rows[0]?.server_version ?? ""}`
      }),
  )
}

/** Checks that the event store answers, belongs to the database, and has no corrupt streams. */
async function eventStoreFindings(config: Config): Promise<readonly DoctorFinding[]> {
  const { databaseUrl, eventStoreUrl } = config
  const inside = "inside the database"
  // The embedded PostgreSQL is not started for a check.
  if (databaseUrl === null && eventStoreUrl === null) return [okFinding("event store", inside)]
  let streams: readonly DoctorFinding[] = []
  const found = await findingFrom(
    "event store",
    "check that it runs, and LEDGER_EVENTSTORE_URL",
    async () => {
      const chosen = await openEventStore(databaseUrl ?? "", eventStoreUrl)
      try {
        const checked =
          databaseUrl === null ? checkStoreOnly(chosen) : checkAsStartup(databaseUrl, chosen)
        streams = await withProviderTimeout(
          machinePacer,
          "the event store",
          checked,
          STORE_TIMEOUT_MS,
        )
        return eventStoreUrl === null ? inside : maskEventStoreAddress(eventStoreUrl)
      } finally {
        await chosen.store.close()
      }
    },
  )
  if (found.state !== "ok" || databaseUrl !== null) return [found, ...streams]
  const says = `${found.says}; not compared with the embedded database, which is not running`
  const fix = "start the server, which compares them"
  return [{ ...found, state: "missing", says, fix }, ...streams]
}

/** Checks an event store without its database. */
async function checkStoreOnly({ store }: ConfiguredStore): Promise<readonly DoctorFinding[]> {
  await store.head()
  return [await installationStreamsFinding(store, openMemoryCheckpoints())]
}

/** Runs the checks of a start on a database and its event store. @throws the errors of a start */
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

/** Checks that the installation's streams are not corrupt. */
async function installationStreamsFinding(
  store: EventStore,
  checkpoints: Checkpoints,
): Promise<DoctorFinding> {
  const check = "streams"
  const corrupt = await corruptInstallationStreams({ store, checkpoints }, PROGRAM.streams)
  if (corrupt.length === 0) return okFinding(check, "the installation's streams are valid")
  const says = corrupt.map(({ message }) => message).join("; ")
  return { check, state: "wrong", says, fix: repairHint(corrupt[0] as CorruptStream, store) }
}

/** Turns the answer of a store into a finding; an error becomes its text. */
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

/** Checks the stores with this shell's settings, if no server runs. */
async function storeFindings(config: Config): Promise<readonly DoctorFinding[]> {
  return [
    await databaseFinding(config.databaseUrl),
    ...(await eventStoreFindings(config)),
    okFinding("read models", "not checked: no server runs here"),
    simulatedFinding(config.simulatedProviders.names),
  ]
}

async function serverFindings(server: RunningServerClient): Promise<readonly DoctorFinding[]> {
  const ready = await findingFrom("server", "see the server's log", server.readiness)
  if (ready.state !== "ok") return [ready]
  const lines = ready.says.split("\n")
  const stores = ["database", "event store", "clock"].map((check) =>
    dependencyFinding(check, lines),
  )
  const isServing = stores.every(({ state }) => state === "ok")
  // Without the database the state of the read models is unknown.
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

/** The text after one of these states and the check's name; null if there is no such line. */
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
  const check = "jobs"
  const says = statusText(lines, ["warn"], "work")
  if (says === null) return okFinding(check, "no stuck jobs")
  const fix = "company-ledger job list shows them; job retry retries one, job discard discards it"
  return { check, state: "wrong", says, fix }
}

/** The finding of a slice's probe in the server. */
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
  const says = statusText(lines, ["fail"], check) ?? "the server does not report it"
  return { check, state: "wrong", says, fix: "check that it runs; see the server's log" }
}

async function readModelFindings({ ask }: RunningServerClient): Promise<readonly DoctorFinding[]> {
  const check = "read models"
  const answer = await ask("projections status", {})
  if ("error" in answer) {
    const fix = "see the server's log"
    return [{ check, state: "wrong", says: answer.error.message, fix }]
  }
  const { projections: models } = ProjectionStatusReply.parse(answer.result)
  const stopped = models.filter(({ fault }) => fault !== null)
  if (stopped.length === 0) {
    const behind = models.reduce((sum, one) => sum + (one.behind ?? 0), 0)
    return [okFinding(check, `${models.length} running, ${behind} facts behind`)]
  }
  return stopped.map(({ name, fault }) => {
    const fix = `fix the cause, then run company-ledger projections rebuild ${name}`
    return { check, state: "wrong", says: `${name} stopped: ${fault ?? ""}`, fix }
  })
}

/** The finding for corrupt streams that a server reports; null means none. */
function corruptFinding(says: string | null): DoctorFinding {
  const check = "streams"
  if (says === null) return okFinding(check, "no corrupt streams")
  const fix =
    "company-ledger projections status shows why, audit verify shows the first discrepancy; " +
    "docs/eventstoredb.md says how to repair it (a checkpoint is not a repair)"
  return { check, state: "wrong", says, fix }
}

/** The corrupt streams that a database lists. */
async function corruptStreamFindings(pool: Pool): Promise<readonly DoctorFinding[]> {
  const { rows } = await pool.query<{ there: boolean }>(
    "select to_regclass('ledger.corrupt_streams') is not null as there",
  )
  // A start creates the table in a database of an earlier version.
  if (rows[0]?.there !== true) return []
  const listed = await openPostgresCorruptStreams(pool).list()
  return listed.length === 0 ? [] : [corruptFinding(listed.map(corruptStreamText).join("; "))]
}
