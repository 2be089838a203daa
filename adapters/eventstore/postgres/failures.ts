import pg from "pg"

import { AccessDenied, Unavailable } from "../port.ts"

const ADVICE: Readonly<Record<string, string>> = {
  "3D000": "the database does not exist",
  "3F000": "the schema eventstore is missing: run the migrations",
  "42P01": "the schema eventstore is missing: run the migrations",
  "42883": "the schema eventstore is missing or of another version: run the migrations",
  "25006": "the database takes no writes",
  "53100": "the disk of the database is full",
  "53200": "the database is out of memory",
  "53300": "the database has no free connection",
  "57014": "the database gave up on the statement",
  "57P01": "the database is stopping",
  "57P02": "the database crashed",
  "57P03": "the database is starting or stopping",
}

/**
 * What a failure means when nothing was stored: a connection that could not be made, a statement
 * that only reads, or a transaction that is known to be rolled back.
 */
export function refusal(error: unknown): Unavailable | AccessDenied {
  if (error instanceof Unavailable || error instanceof AccessDenied) return error
  const code = sqlState(error)
  if (code === "42501" || code?.startsWith("28")) {
    return new AccessDenied("the database refuses these credentials", { cause: error })
  }
  const advice = code === undefined ? undefined : ADVICE[code]
  return new Unavailable(`the event store is unavailable: ${advice ?? describe(error)}`, {
    cause: error,
  })
}

/** The five characters with which PostgreSQL names an error, undefined when it was not the sender. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** What failed, in words. Node wraps what several addresses answered into an error without a message. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join(", ")
  return error instanceof Error ? error.message : String(error)
}
