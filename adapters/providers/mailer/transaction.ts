/** What every transaction with a server of mail has, whoever's it is. */
import type { Envelope } from "./port.ts"

/**
 * How long steps of a talk may take, milliseconds; RFC 5321 asks for ten minutes behind the data. No text
 * that is handed over is ever read as the name of a file or an address to fetch.
 */
export const EVERY_SERVER = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 600_000,
  disableFileAccess: true,
  disableUrlAccess: true,
} as const

/** Bytes for one recipient. Where the server knows how, it is asked to say whether they came back. */
export function transactionOf({ mailId, from, to }: Envelope, raw: Buffer) {
  const dsn = { id: mailId, return: "headers", notify: ["failure", "delay"] }
  return { envelope: { from, to: [to] }, raw, dsn: { ...dsn, recipient: `rfc822;${to}` } }
}
