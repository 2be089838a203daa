/** Tells a database that is unavailable or overloaded from a rejected statement. */

/**
 * PostgreSQL's error classes that do not concern the statement: connection exceptions (08), lost
 * transaction races (40), exhausted resources (53), operator intervention (57).
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
/** The driver's messages for a connection that broke before or during a statement. */
const DRIVER_MESSAGES =
  /connection terminated|is not queryable|timeout exceeded when trying to connect|read timeout|timeout expired/i

/** Whether an error means that the database was temporarily unavailable, so that a retry may work. */
export function isConnectionFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  if (SOCKET_CODES.has(code)) return true
  if (code.length === 5 && TRANSIENT_CLASSES.has(code.slice(0, 2))) return true
  return DRIVER_MESSAGES.test(error.message)
}
