/** Why an installation could not be opened, in words that an operator can act on. */
import { AccessDenied, DamagedStream, Unavailable } from "../../adapters/eventstore/port.ts"
import { StartupFault } from "../../adapters/startup/port.ts"
import { NewerDatabase } from "../../adapters/postgres/migrate.ts"
import { ReadModelAhead } from "../../adapters/postgres/projector/ahead.ts"
import { TakenAlone } from "../../adapters/processes/alone.ts"
import { WrongMasterKey } from "../../adapters/sealing/installation.ts"
import type { Config } from "./config.ts"
import { WrongEventStore } from "./event-store.ts"
import { UnfinishedRestore } from "./unfinished-restore.ts"

/** What says by itself what is wrong and how it is mended. */
const PLAIN = [
  NewerDatabase,
  WrongMasterKey,
  ReadModelAhead,
  WrongEventStore,
  UnfinishedRestore,
  TakenAlone,
]

/** Faults of opening that an operator can mend, as one sentence. */
export function explainOpening(error: unknown, config: Pick<Config, "eventStoreUrl">): unknown {
  if (error instanceof Error && PLAIN.some((kind) => error instanceof kind)) {
    return new StartupFault(error.message, error)
  }
  if (error instanceof DamagedStream) {
    return new StartupFault(
      `The event store does not hold all that was stored in it (${error.message}): restore what is ` +
        "missing from a backup.",
      error,
    )
  }
  if (config.eventStoreUrl !== null && error instanceof Unavailable) {
    return new StartupFault(
      `The server of LEDGER_EVENTSTORE_URL cannot be used (${error.message}): start it, or correct the ` +
        "address; without encryption it needs ?tls=false.",
      error,
    )
  }
  if (config.eventStoreUrl !== null && error instanceof AccessDenied) {
    return new StartupFault(
      "The server of LEDGER_EVENTSTORE_URL refuses its user: put one into the address (esdb://user:" +
        "password@host) who may read $all and write all streams, such as one of $admins.",
      error,
    )
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  if (["ECONNREFUSED", "ENOTFOUND", "28P01", "28000", "3D000", "ETIMEDOUT"].includes(code)) {
    const why = error instanceof Error ? error.message : code
    return new StartupFault(`The database of DATABASE_URL cannot be opened (${why}).`, error)
  }
  if (code === "42501") {
    return new StartupFault(
      "The user of DATABASE_URL may not create roles and schemas: use the database's owner with CREATEROLE.",
      error,
    )
  }
  return error
}
