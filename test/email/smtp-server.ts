/** A real SMTP server on this machine that replies as a test decides. */
import type { Socket } from "node:net"
import { SMTPServer } from "smtp-server"

/** The reply to a mail's data: `cut`, or a reply as in `SmtpRules`. */
type DataAnswer = number | string | null

/** The server's replies: null accepts, otherwise a reply code with or without text. */
export interface SmtpRules {
  readonly sender?: (address: string) => number | null
  readonly recipient?: (address: string) => number | string | null
  /** "cut": accepts the mail and cuts all connections before the reply. */
  readonly data?: (to: string) => DataAnswer | Promise<DataAnswer>
}

export type SmtpServerFixture = Awaited<ReturnType<typeof openSmtpServer>>

/** Opens a server at a free port. */
export async function openSmtpServer(rules: SmtpRules = {}) {
  /** Mails that it accepted or had when the connection was cut. */
  const arrived: { readonly from: string; readonly to: string; readonly bytes: Buffer }[] = []
  /** Number of connections, and recipients of all RCPT commands. */
  const activity = { connections: 0, recipients: [] as string[] }
  const fixture = { arrived, activity, rules }
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    closeTimeout: 200,
    onConnect: (_session, done) => {
      activity.connections += 1
      done()
    },
    onMailFrom: ({ address }, _session, done) => done(smtpErrorOf(fixture.rules.sender?.(address))),
    onRcptTo: ({ address }, _session, done) => {
      activity.recipients.push(address)
      done(smtpErrorOf(fixture.rules.recipient?.(address)))
    },
    onData: (stream, { envelope }, done) => {
      const pieces: Buffer[] = []
      stream.on("data", (piece: Buffer) => pieces.push(piece))
      stream.on("end", async () => {
        const to = envelope.rcptTo.map(({ address }) => address).join()
        const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address
        const answer = (await fixture.rules.data?.(to)) ?? null
        if (answer === null || answer === "cut")
          arrived.push({ from, to, bytes: Buffer.concat(pieces) })
        if (answer === "cut") for (const socket of sockets) socket.destroy()
        else done(smtpErrorOf(answer))
      })
    },
  })
  const sockets = new Set<Socket>()
  server.server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  server.on("error", () => undefined)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const { port } = server.server.address() as { port: number }
  const close = () => new Promise<void>((resolve) => server.close(resolve))
  return Object.assign(fixture, { port, url: `smtp://127.0.0.1:${port}`, close })
}

function smtpErrorOf(answer: number | string | null | undefined): Error | null {
  if (answer === null || answer === undefined) return null
  if (typeof answer === "string") {
    return Object.assign(new Error(answer.slice(4)), { responseCode: Number(answer.slice(0, 3)) })
  }
  const code = answer
  return Object.assign(new Error(code < 500 ? "later" : "no"), { responseCode: code })
}
