/** Telling a database that is lost or hard pressed from a refused statement. */

/**
 * Classes of PostgreSQL's codes that say nothing about the statement: connection exceptions, a
 * transaction that lost a race, no room (disk, memory, connections), an operator's intervention.
 */
const TRANSIENT_CLASSES = new Set(["08", "40", "53", "57"])
const SOCKET_CODES = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT",
])
/** What the driver says of a connection that broke under or before a statement. */
const DRIVER_MESSAGES =
  /connection terminated|is not queryable|timeout exceeded when trying to connect|read timeout|timeout expired/i

/** Whether an error means that the database could not serve just then: the same again may work. */
export function isConnectionFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  if (SOCKET_CODES.has(code)) return true
  if (code.length === 5 && TRANSIENT_CLASSES.has(code.slice(0, 2))) return true
  return DRIVER_MESSAGES.test(error.message)
}
