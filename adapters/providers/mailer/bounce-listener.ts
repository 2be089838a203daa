/** The SMTP listener for bounces (`BOUNCE_LISTEN`). */
import type { SMTPServer, SMTPServerDataStream } from "smtp-server"
import { StartupFault } from "../../machine/startup/port.ts"
import type { BounceReport, BounceListener } from "./port.ts"
import PostalMime from "postal-mime"
import { smtpStatusCode } from "./smtp-answers.ts"

/** Permanent failure (RFC 3463). */
const FAILED_STATUS = /^5\.\d{1,3}\.\d{1,3}\b/

/**
 * The status that servers report if the remote reply had none; the reply itself is more precise.
 */
const UNDEFINED_STATUS = "5.0.0"

const SMTP_DIAGNOSTIC = /^smtp;\s*((5\d\d)\b.*)$/is

const MAX_BYTES = 1024 * 1024
const MAX_CONNECTIONS = 20
const IDLE_TIMEOUT_MS = 30_000

/** Opens the listener. @param at address and port; null: it never listens */
export function openBounceListener(
  at: { readonly host: string; readonly port: number } | null,
  warn: (message: string, error: unknown) => void,
): BounceListener {
  return {
    listen: async (isOurs, store) => {
      if (at === null) return null
      const { SMTPServer } = await import("smtp-server")
      const server = new SMTPServer({
        size: MAX_BYTES,
        maxClients: MAX_CONNECTIONS,
        socketTimeout: IDLE_TIMEOUT_MS,
        closeTimeout: 1_000,
        disableReverseLookup: true,
        // The TLS key that the package ships is public.
        disabledCommands: ["AUTH", "STARTTLS"],
        onRcptTo: ({ address }, _session, done) => {
          done(isOurs(address) ? null : smtpError(550, "5.1.1 mailbox does not exist"))
        },
        onData: (stream, { envelope }, done) => {
          const to = envelope.rcptTo.map(({ address }) => address)
          receiveReport(stream, to, store).then(
            (fault) => done(fault),
            (error: unknown) => {
              warn("a bounced mail could not be stored; its sender will retry", error)
              done(smtpError(451, "4.3.0 try again later"))
            },
          )
        },
      })
      // Errors of clients' connections are not ours to report.
      server.on("error", () => undefined)
      await startListening(server, at)
      const address = server.server.address()
      return {
        port: typeof address === "object" && address !== null ? address.port : at.port,
        stop: () => new Promise((resolve) => server.close(resolve)),
      }
    },
  }
}

/** Stores a report; returns the SMTP error for a mail that is too large. */
async function receiveReport(
  stream: SMTPServerDataStream,
  to: readonly string[],
  store: (report: BounceReport) => Promise<void>,
): Promise<Error | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    const buffer = Buffer.from(chunk as Uint8Array)
    bytes += buffer.length
    if (bytes <= MAX_BYTES) chunks.push(buffer)
  }
  if (stream.sizeExceeded || bytes > MAX_BYTES)
    return smtpError(552, `5.3.4 message exceeds ${MAX_BYTES} bytes`)
  const status = await parseBounceStatus(Buffer.concat(chunks))
  if (status === null) return null
  for (const one of to) await store({ to: one, status })
  return null
}

const smtpError = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode })

function startListening(
  server: SMTPServer,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      const message = `BOUNCE_LISTEN: ${host}:${port} cannot be opened: ${error.message}`
      reject(new StartupFault(message))
    }
    server.server.once("error", fail)
    server.listen(port, host, () => {
      server.server.off("error", fail)
      resolve()
    })
  })
}

/**
 * The status of the first recipient with a permanent failure. Null for other mails: delays,
 * out-of-office replies, and anything that is not a delivery report.
 */
export async function parseBounceStatus(bytes: Buffer): Promise<string | null> {
  const { headers, attachments } = await PostalMime.parse(bytes, { attachmentEncoding: "utf8" })
  const type = headers.find(({ key }) => key === "content-type")?.value ?? ""
  if (!/^multipart\/report\b/i.test(type.trim())) return null
  const status = attachments.find(({ mimeType }) => mimeType === "message/delivery-status")
  if (status === undefined) return null
  // One group of fields for the mail, then one per recipient.
  const [, ...recipients] = String(status.content)
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/\n[ \t]+/g, " ")
    .split(/\n\s*\n/)
  for (const group of recipients) {
    const code = FAILED_STATUS.exec(fieldOf(group, "status"))?.[0]
    if (code === undefined || fieldOf(group, "action").toLowerCase() !== "failed") continue
    const [, answer, reply] = SMTP_DIAGNOSTIC.exec(fieldOf(group, "diagnostic-code")) ?? []
    return code === UNDEFINED_STATUS && reply !== undefined
      ? smtpStatusCode(answer, Number(reply))
      : code
  }
  return null
}

function fieldOf(group: string, name: string): string {
  const line = group.split("\n").find((one) => one.toLowerCase().startsWith(`${name}:`))
  return line === undefined ? "" : line.slice(name.length + 1).trim()
}
