/** A real server of mail on this machine, that says what a test tells it to. */
import type { Socket } from "node:net"
import { SMTPServer } from "smtp-server"

/** What it says to a mail as a whole: `cut`, or as `SmtpRules` says of a reply. */
type DataAnswer = number | string | null

/** What it says; null for yes, else a reply code, with or without its text. */
export interface SmtpRules {
  readonly sender?: (address: string) => number | null
  readonly recipient?: (address: string) => number | string | null
  /** "cut": it takes the mail, and the connection is gone before it can say so. */
  readonly data?: (to: string) => DataAnswer | Promise<DataAnswer>
}

/** A server of mail. */
export type SmtpServerFixture = Awaited<ReturnType<typeof openSmtpServer>>

/** Opens one at a free port. */
export async function openSmtpServer(rules: SmtpRules = {}) {
  /** What it took, or was left with when the connection was cut. */
  const arrived: { readonly from: string; readonly to: string; readonly bytes: Buffer }[] = []
  /** How many connected, and whom they asked for. */
  const asked = { connections: 0, recipients: [] as string[] }
  const stand = { arrived, asked, rules }
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    closeTimeout: 200,
    onConnect: (_session, done) => {
      asked.connections += 1
      done()
    },
    onMailFrom: ({ address }, _session, done) => done(smtpErrorOf(stand.rules.sender?.(address))),
    onRcptTo: ({ address }, _session, done) => {
      asked.recipients.push(address)
      done(smtpErrorOf(stand.rules.recipient?.(address)))
    },
    onData: (stream, { envelope }, done) => {
      const pieces: Buffer[] = []
      stream.on("data", (piece: Buffer) => pieces.push(piece))
      stream.on("end", async () => {
        const to = envelope.rcptTo.map(({ address }) => address).join()
        const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address
        const answer = (await stand.rules.data?.(to)) ?? null
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
  return Object.assign(stand, { port, url: `smtp://127.0.0.1:${port}`, close })
}

function smtpErrorOf(answer: number | string | null | undefined): Error | null {
  if (answer === null || answer === undefined) return null
  if (typeof answer === "string") {
    return Object.assign(new Error(answer.slice(4)), { responseCode: Number(answer.slice(0, 3)) })
  }
  const code = answer
  return Object.assign(new Error(code < 500 ? "later" : "no"), { responseCode: code })
}
