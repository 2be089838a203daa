/** Why an installation could not be opened, in words that an operator can act on. */
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { AccessDenied, DamagedStream, Unavailable } from "../../../adapters/eventstore/port.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import {
  NewerDatabase,
  OlderDatabase,
  WrongEncoding,
  hasInstallation,
} from "../../../adapters/postgres/migrate.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import { ReadModelAhead } from "../../../adapters/postgres/projector/joint.ts"
import type { RegisteredProcess } from "../../../adapters/postgres/leases/postgres.ts"
import { TakenAlone } from "../../../adapters/postgres/leases/postgres.ts"
import { WrongMasterKey } from "../../../adapters/sealing/installation.ts"
import type { Config } from "../settings/config.ts"
import { WrongEventStore } from "./event-store.ts"
import type { InstallationMemory } from "../../../adapters/postgres/installation/port.ts"
import type { Checkpoints } from "../../../adapters/postgres/checkpoints/port.ts"
import { loadStream } from "../../frame/writer/runner/load.ts"
import type { Streams } from "../../frame/writer/streams.ts"
import { checkDataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import { hasCluster } from "../../../adapters/postgres/embedded/folder.ts"
import type { Pool } from "pg"
import { openDatabaseClock, machinePacer } from "../../../adapters/machine/clock/clock.ts"
import type { TestClock } from "../../../adapters/machine/clock/test.ts"
import { openTestClock, testClockAhead } from "../../../adapters/machine/clock/test.ts"
import type { DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Faulty } from "../settings/faults.ts"

/** What a clock is made of. */
interface ClockParts {
  readonly pool: Pool
  readonly watch: Pick<DatabaseWatch, "quick">
  readonly processes: RegisteredProcess
}

/** A clock, how it is set where it can be, and what to do before it is another one's. */
type Set = Pick<TestClock, "beforeFollowing"> & Pick<AdminPorts, "clock" | "setClock">

/** What is stored goes by a test clock that is ahead of the machine's. */
class ClockAhead extends Error {
  override readonly name = "ClockAhead"
}

/** By the machine's clock all that is done would wait for the time of what is stored. @throws ClockAhead */
async function refuseAhead(pool: Pool): Promise<void> {
  const stands = await testClockAhead(pool)
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
  faulty: Faulty,
): Promise<{ readonly clock: Set; readonly stop: () => void }> {
  if (kind === "test") {
    const test = await openTestClock({ pool, pacer: machinePacer, processes, warn })
    const { beforeFollowing, set: setClock } = test
    return { clock: { clock: test, setClock, beforeFollowing }, stop: () => undefined }
  }
  await refuseAhead(pool)
  const machine = faulty.machine({ pool: watch.quick, pacer: machinePacer })
  const clock = await openDatabaseClock(machine.pool, machine.pacer, warn)
  const set = { clock, setClock: null, beforeFollowing: () => undefined }
  return { clock: set, stop: clock.stop }
}

/** A restore into this installation was cut short. The message says what to do. */
class UnfinishedRestore extends Error {
  override readonly name = "UnfinishedRestore"
}

/** Refuses an installation that is half of another one. @throws UnfinishedRestore */
export async function refuseUnfinished(memory: InstallationMemory): Promise<void> {
  if ((await memory.unfinishedRestore()) === null) return
  throw new UnfinishedRestore(
    "A restore into this installation was cut short: give `company-ledger restore FILE` again with " +
      "the same file, and it goes on where it stopped.",
  )
}

/** What says by itself what is wrong and how it is mended. */
const PLAIN = [
  ClockAhead,
  NewerDatabase,
  OlderDatabase,
  WrongEncoding,
  WrongMasterKey,
  ReadModelAhead,
  WrongEventStore,
  UnfinishedRestore,
  TakenAlone,
]

/** What a server or resolver says of an address, user, password or database that there is not. */
const WRONG_ADDRESS = new Set(["ENOTFOUND", "28P01", "28000", "3D000"])

/** What the driver and Node say where a server has no TLS, or a certificate that nobody vouches for. */
const TLS_WORDS = /does not support SSL connections/
const TLS_CODES = /^ERR_(?:TLS|SSL)|CERT|^UNABLE_TO_(?:GET|VERIFY)/

/** Faults of opening that an operator can mend, as one sentence. */
export function explainOpening(error: unknown, config: Pick<Config, "eventStoreUrl">): unknown {
  if (!(error instanceof Error)) return error
  // The server of events says of its connections what a database says of them.
  const sentence = (config.eventStoreUrl === null ? null : ofServer(error)) ?? sentenceFor(error)
  return sentence === null ? error : new StartupFault(sentence, error)
}

/** What is wrong with the server of events; null where it is something else. */
function ofServer(error: Error): string | null {
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
  if (error instanceof DamagedStream) return damagedText(error, { hidesBeginnings: true })
  return null
}

/** What is wrong with a stream that a start reads. */
function damagedText(fault: DamagedStream, store: Pick<EventStore, "hidesBeginnings">): string {
  const { message } = fault
  const what = `The event store does not hold all that was stored in it (${message})`
  return `${what}: ${repairOf(fault, store)}.`
}

/** What is wrong with the stores otherwise; null where nobody can say how to mend it. */
function sentenceFor(error: Error): string | null {
  const { message } = error
  if (PLAIN.some((kind) => error instanceof kind)) return message
  if (error instanceof DamagedStream) return damagedText(error, {})
  const code = "code" in error ? String(error.code) : ""
  if (TLS_WORDS.test(message) || TLS_CODES.test(code)) {
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
export async function damagedInstallationStreams(
  ports: { readonly store: EventStore; readonly checkpoints: Checkpoints },
  { ofInstallation }: Pick<Streams, "ofInstallation">,
): Promise<readonly DamagedStream[]> {
  const found: DamagedStream[] = []
  for (const { stream, aggregate } of ofInstallation) {
    try {
      await loadStream(ports, aggregate, stream)
    } catch (error) {
      if (!(error instanceof DamagedStream)) throw error
      found.push(error)
    }
  }
  return found
}

/** How a stream is repaired that the store does not show whole, as a part of a sentence. */
export function repairOf(
  { place: { stream } }: DamagedStream,
  { hidesBeginnings }: Pick<EventStore, "hidesBeginnings">,
): string {
  const restore = "restore what is missing from a backup"
  if (hidesBeginnings !== true) return restore
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
    throw explainOpening(error, config)
  })
  if (isThere) return
  const { host, pathname } = new URL(databaseUrl)
  throw new StartupFault(
    `There is no installation in the database of DATABASE_URL (${host}${pathname}): correct it, ` +
      'or make one there with "company-ledger start".',
  )
}
