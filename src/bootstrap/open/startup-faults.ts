/** Explains why an installation could not be opened, with the fix. */
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

/** The parts from which a clock is opened. */
interface ClockParts {
  readonly pool: Pool
  readonly watch: Pick<DatabaseWatch, "probePool">
  readonly processes: RegisteredProcess
}

/** A clock, how to set it, and what to do before another process advances it. */
type OpenedClock = Pick<TestClock, "beforeAdvance"> & Pick<AdminPorts, "clock" | "setClock">

/** The stored test clock is ahead of the machine's clock. */
class ClockAhead extends Error {
  override readonly name = "ClockAhead"
}

/**
 * Rejects an installation whose test clock is ahead: by the machine's clock everything would wait.
 * @throws ClockAhead
 */
async function rejectClockAhead(pool: Pool): Promise<void> {
  const testClockAt = await readTestClockAhead(pool)
  if (testClockAt === null) return
  const at = new Date(testClockAt).toISOString()
  throw new ClockAhead(
    `The test clock of this installation is at ${at}, ahead of this machine's clock. Set ` +
      "LEDGER_CLOCK=test, or use another data folder or database. With the machine's clock all work would " +
      "wait until then.",
  )
}

/** Opens the ledger's clock. @throws ClockAhead; the driver's error if it cannot be measured */
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

/** A restore into this installation was interrupted. The message says what to do. */
class UnfinishedRestore extends Error {
  override readonly name = "UnfinishedRestore"
}

/** Rejects an installation with an interrupted restore. @throws UnfinishedRestore */
export async function rejectUnfinishedRestore(memory: InstallationState): Promise<void> {
  if ((await memory.unfinishedRestore()) === null) return
  throw new UnfinishedRestore(
    "A restore into this installation was interrupted. Run `company-ledger restore FILE` again with " +
      "the same file; it continues where it stopped.",
  )
}

/** Errors whose message says what is wrong and how to fix it. */
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

/** Error codes for an unknown host, user, password or database. */
const WRONG_ADDRESS = new Set(["ENOTFOUND", "28P01", "28000", "3D000"])

/** Messages and codes for a server without TLS, or with an untrusted certificate. */
const TLS_MESSAGE = /does not support SSL connections/
const TLS_CODES = /^ERR_(?:TLS|SSL)|CERT|^UNABLE_TO_(?:GET|VERIFY)/

/** Converts faults that an operator can fix to one sentence. */
export function explainStartupFault(
  error: unknown,
  config: Pick<Config, "eventStoreUrl">,
): unknown {
  if (!(error instanceof Error)) return error
  // An EventStoreDB server's connection errors look like a database's.
  const sentence =
    (config.eventStoreUrl === null ? null : eventStoreFaultText(error)) ?? databaseFaultText(error)
  return sentence === null ? error : new StartupFault(sentence, error)
}

/** The sentence for a fault of the EventStoreDB server; null for other faults. */
function eventStoreFaultText(error: Error): string | null {
  if (error instanceof Unavailable) {
    return (
      `The server of LEDGER_EVENTSTORE_URL cannot be used (${error.message}). Start it, or correct the ` +
      "address; without encryption it needs ?tls=false."
    )
  }
  if (error instanceof AccessDenied) {
    return (
      "The server of LEDGER_EVENTSTORE_URL rejects its user. Put a user into the address (esdb://user:" +
      "password@host) who can read $all and write all streams, such as one of $admins."
    )
  }
  if (error instanceof CorruptStream) return corruptStreamText(error, { canHideEvents: true })
  return null
}

function corruptStreamText(fault: CorruptStream, store: Pick<EventStore, "canHideEvents">): string {
  const { message } = fault
  return `The event store does not hold everything that was stored in it (${message}). To repair it, ${repairHint(fault, store)}.`
}

/** The sentence for a fault of the database; null for other faults. */
function databaseFaultText(error: Error): string | null {
  const { message } = error
  if (SELF_EXPLAINING.some((kind) => error instanceof kind)) return message
  if (error instanceof CorruptStream) return corruptStreamText(error, {})
  const code = "code" in error ? String(error.code) : ""
  if (TLS_MESSAGE.test(message) || TLS_CODES.test(code)) {
    return (
      `The database of DATABASE_URL cannot be reached with TLS (${message}). Name the issuer of its certificate ` +
      "(sslrootcert=FILE in the address), or remove sslmode if it has no TLS."
    )
  }
  // A missing file has the same code as a missing socket.
  const isMissingFile = code === "ENOENT" && !("syscall" in error && error.syscall === "connect")
  if (WRONG_ADDRESS.has(code) || (isConnectionFault(error) && !isMissingFile)) {
    return `The database of DATABASE_URL cannot be opened (${message}). Start it, or correct the address.`
  }
  if (code === "42501") {
    return "The user of DATABASE_URL may not create roles and schemas. Use the database's owner with CREATEROLE."
  }
  return null
}

/**
 * Loads the installation's streams as a start does. Returns the faults of the corrupt ones.
 *
 * @throws Unavailable, AccessDenied if the store cannot be read
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

/** The fix for a corrupt stream, as part of a sentence. */
export function repairHint(
  { corruption: { stream } }: CorruptStream,
  { canHideEvents }: Pick<EventStore, "canHideEvents">,
): string {
  const restore = "restore what is missing from a backup"
  if (canHideEvents !== true) return restore
  return `show what its settings hide with \`company-ledger store repair-settings ${stream}\`, or ${restore}`
}

/**
 * Checks that the settings name an existing installation.
 *
 * @throws StartupFault if there is none, or its database cannot be reached
 */
export async function requireInstallation(config: Config): Promise<void> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl === null) {
    await checkDataFolder(dataDir)
    if (await hasCluster(dataDir)) return
    throw new StartupFault(
      `There is no installation in ${dataDir}. Set LEDGER_DATA_DIR to your data folder, ` +
        'or create an installation with "company-ledger start".',
    )
  }
  const isThere = await hasInstallation(databaseUrl).catch((error: unknown) => {
    throw explainStartupFault(error, config)
  })
  if (isThere) return
  const { host, pathname } = new URL(databaseUrl)
  throw new StartupFault(
    `There is no installation in the database of DATABASE_URL (${host}${pathname}). Correct it, ` +
      'or create an installation with "company-ledger start".',
  )
}
