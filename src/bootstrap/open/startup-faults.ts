/** Why an installation could not be opened, in words that an operator can act on. */
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { AccessDenied, CorruptStream, Unavailable } from "../../../adapters/eventstore/port.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import {
  NewerDatabase,
  OlderDatabase,
  WrongEncoding,
  hasInstallation,
} from "../../../adapters/postgres/migrate.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import { ReadModelAhead } from "../../../adapters/postgres/projector/joint-writer.ts"
import type { RegisteredProcess } from "../../../adapters/postgres/leases/postgres.ts"
import { InstallationLocked } from "../../../adapters/postgres/leases/postgres.ts"
import { WrongMasterKey } from "../../../adapters/sealing/installation.ts"
import type { Config } from "../settings/config.ts"
import { WrongEventStore } from "./event-store.ts"
import type { InstallationState } from "../../../adapters/postgres/installation/port.ts"
import type { Checkpoints } from "../../../adapters/postgres/checkpoints/port.ts"
import { loadStream } from "../../frame/writer/runner/load.ts"
import type { Streams } from "../../frame/writer/streams.ts"
import { checkDataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import { hasCluster } from "../../../adapters/postgres/embedded/folder.ts"
import type { Pool } from "pg"
import { openDatabaseClock, machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import type { TestClock } from "../../../adapters/machine/clock/test-clock.ts"
import { openTestClock, readTestClockAhead } from "../../../adapters/machine/clock/test-clock.ts"
import type { DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { FaultInjector } from "../settings/injected-faults.ts"

/** What a clock is made of. */
interface ClockParts {
  readonly pool: Pool
  readonly watch: Pick<DatabaseWatch, "probePool">
  readonly processes: RegisteredProcess
}

/** A clock, how it is set where it can be, and what to do before it is another one's. */
type OpenedClock = Pick<TestClock, "beforeAdvance"> & Pick<AdminPorts, "clock" | "setClock">

/** What is stored goes by a test clock that is ahead of the machine's. */
class ClockAhead extends Error {
  override readonly name = "ClockAhead"
}

/** By the machine's clock all that is done would wait for the time of what is stored. @throws ClockAhead */
async function rejectClockAhead(pool: Pool): Promise<void> {
  const stands = await readTestClockAhead(pool)
  if (stands === null) return
  const at = new Date(stands).toISOString()
  throw new ClockAhead(
    `The test clock of this installation was moved to ${at}, and all that is stored goes by it: set ` +
      "LEDGER_CLOCK=test, or use another data folder or database. By the machine's clock what is done now would " +
      "wait until then.",
  )
}

/** Opens the ledger's clock. @throws ClockAhead; the driver's error where it cannot be measured */
export async function openClock(
  { clock: kind, log: { warn } }: { readonly clock: "system" | "test"; readonly log: Log },
  { pool, watch, processes }: ClockParts,
  faulty: FaultInjector,
): Promise<{ readonly clock: OpenedClock; readonly stop: () => void }> {
  if (kind === "test") {
    const test = await openTestClock({ pool, pacer: machinePacer, processes, warn })
    const { beforeAdvance, set: setClock } = test
    return { clock: { clock: test, setClock, beforeAdvance }, stop: () => undefined }
  }
  await rejectClockAhead(pool)
  const machine = faulty.machine({ pool: watch.probePool, pacer: machinePacer })
  const clock = await openDatabaseClock(machine.pool, machine.pacer, warn)
  const set = { clock, setClock: null, beforeAdvance: () => undefined }
  return { clock: set, stop: clock.stop }
}

/** A restore into this installation was cut short. The message says what to do. */
class UnfinishedRestore extends Error {
  override readonly name = "UnfinishedRestore"
}

/** Refuses an installation that is half of another one. @throws UnfinishedRestore */
export async function rejectUnfinishedRestore(memory: InstallationState): Promise<void> {
  if ((await memory.unfinishedRestore()) === null) return
  throw new UnfinishedRestore(
    "A restore into this installation was cut short: give `company-ledger restore FILE` again with " +
      "the same file, and it goes on where it stopped.",
  )
}

/** What says by itself what is wrong and how it is mended. */
const SELF_EXPLAINING = [
  ClockAhead,
  NewerDatabase,
  OlderDatabase,
  WrongEncoding,
  WrongMasterKey,
  ReadModelAhead,
  WrongEventStore,
  UnfinishedRestore,
  InstallationLocked,
]

/** What a server or resolver says of an address, user, password or database that there is not. */
const WRONG_ADDRESS = new Set(["ENOTFOUND", "28P01", "28000", "3D000"])

/** What the driver and Node say where a server has no TLS, or a certificate that nobody vouches for. */
const TLS_MESSAGE = /does not support SSL connections/
const TLS_CODES = /^ERR_(?:TLS|SSL)|CERT|^UNABLE_TO_(?:GET|VERIFY)/

/** Faults of opening that an operator can mend, as one sentence. */
export function explainStartupFault(
  error: unknown,
  config: Pick<Config, "eventStoreUrl">,
): unknown {
  if (!(error instanceof Error)) return error
  // The server of events says of its connections what a database says of them.
  const sentence =
    (config.eventStoreUrl === null ? null : eventStoreFaultText(error)) ?? databaseFaultText(error)
  return sentence === null ? error : new StartupFault(sentence, error)
}

/** What is wrong with the server of events; null where it is something else. */
function eventStoreFaultText(error: Error): string | null {
  if (error instanceof Unavailable) {
    return (
      `The server of LEDGER_EVENTSTORE_URL cannot be used (${error.message}): start it, or correct the ` +
      "address; without encryption it needs ?tls=false."
    )
  }
  if (error instanceof AccessDenied) {
    return (
      "The server of LEDGER_EVENTSTORE_URL refuses its user: put one into the address (esdb://user:" +
      "password@host) who may read $all and write all streams, such as one of $admins."
    )
  }
  if (error instanceof CorruptStream) return corruptStreamText(error, { canHideEvents: true })
  return null
}

/** What is wrong with a stream that a start reads. */
function corruptStreamText(fault: CorruptStream, store: Pick<EventStore, "canHideEvents">): string {
  const { message } = fault
  const what = `The event store does not hold all that was stored in it (${message})`
  return `${what}: ${repairHint(fault, store)}.`
}

/** What is wrong with the stores otherwise; null where nobody can say how to mend it. */
function databaseFaultText(error: Error): string | null {
  const { message } = error
  if (SELF_EXPLAINING.some((kind) => error instanceof kind)) return message
  if (error instanceof CorruptStream) return corruptStreamText(error, {})
  const code = "code" in error ? String(error.code) : ""
  if (TLS_MESSAGE.test(message) || TLS_CODES.test(code)) {
    return (
      `The database of DATABASE_URL cannot be reached by TLS (${message}): name who signed its certificate ` +
      "(sslrootcert=FILE in the address), or leave sslmode out where it has no TLS."
    )
  }
  // A file that is missing has the code of a socket that is, and is no database.
  const isMissingFile = code === "ENOENT" && !("syscall" in error && error.syscall === "connect")
  if (WRONG_ADDRESS.has(code) || (isConnectionFault(error) && !isMissingFile)) {
    return `The database of DATABASE_URL cannot be opened (${message}): start it, or correct the address.`
  }
  if (code === "42501") {
    return "The user of DATABASE_URL may not create roles and schemas: use the database's owner with CREATEROLE."
  }
  return null
}

/**
 * Loads each of them as a start does. Answers the faults of those that are not whole.
 *
 * @throws Unavailable, AccessDenied where the store cannot be read
 */
export async function corruptInstallationStreams(
  ports: { readonly store: EventStore; readonly checkpoints: Checkpoints },
  { perInstallation }: Pick<Streams, "perInstallation">,
): Promise<readonly CorruptStream[]> {
  const found: CorruptStream[] = []
  for (const { stream, aggregate } of perInstallation) {
    try {
      await loadStream(ports, aggregate, stream)
    } catch (error) {
      if (!(error instanceof CorruptStream)) throw error
      found.push(error)
    }
  }
  return found
}

/** How a stream is repaired that the store does not show whole, as a part of a sentence. */
export function repairHint(
  { corruption: { stream } }: CorruptStream,
  { canHideEvents }: Pick<EventStore, "canHideEvents">,
): string {
  const restore = "restore what is missing from a backup"
  if (canHideEvents !== true) return restore
  return `show what its settings hide with \`company-ledger store repair-settings ${stream}\`, or ${restore}`
}

/**
 * Looks whether there is an installation where the settings say.
 *
 * @throws StartupFault where there is none, or its database cannot be reached
 */
export async function requireInstallation(config: Config): Promise<void> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl === null) {
    await checkDataFolder(dataDir)
    if (await hasCluster(dataDir)) return
    throw new StartupFault(
      `There is no installation in ${dataDir}: set LEDGER_DATA_DIR to the folder of yours, ` +
        'or make one there with "company-ledger start".',
    )
  }
  const isThere = await hasInstallation(databaseUrl).catch((error: unknown) => {
    throw explainStartupFault(error, config)
  })
  if (isThere) return
  const { host, pathname } = new URL(databaseUrl)
  throw new StartupFault(
    `There is no installation in the database of DATABASE_URL (${host}${pathname}): correct it, ` +
      'or make one there with "company-ledger start".',
  )
}
