/** Why an installation could not be opened, in words that an operator can act on. */
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { AccessDenied, DamagedStream, Unavailable } from "../../../adapters/eventstore/port.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import { NewerDatabase, OlderDatabase, WrongEncoding } from "../../../adapters/postgres/migrate.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import { ReadModelAhead } from "../../../adapters/postgres/projector/ahead.ts"
import { TakenAlone } from "../../../adapters/postgres/leases/postgres.ts"
import { WrongMasterKey } from "../../../adapters/sealing/installation.ts"
import { ClockAhead } from "./clock.ts"
import type { Config } from "../settings/config.ts"
import { WrongEventStore } from "./event-store.ts"
import { repairOf } from "./installation-streams.ts"
import { UnfinishedRestore } from "./unfinished-restore.ts"

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
