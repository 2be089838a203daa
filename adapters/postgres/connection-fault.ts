/** Telling a lost database from a refused statement. */

/** PostgreSQL's own codes for a server that goes, starts, or has no room for a connection. */
const SERVER_CODES = new Set(["57P01", "57P02", "57P03", "53300", "53400"])
const SOCKET_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOENT", "ETIMEDOUT"])

/** Whether an error means that the database was not there: the same again may work. */
export function isConnectionFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  if (SERVER_CODES.has(code) || SOCKET_CODES.has(code) || code.startsWith("08")) return true
  return /connection terminated|timeout exceeded when trying to connect/i.test(error.message)
}
