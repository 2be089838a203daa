/** A relay that breaks the session off, or stops answering, at each step: the answer, the charge and the copies. */
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { openMailRelay } from "../../adapters/providers/mailer/mail-relay.ts"
import type { AddressTag } from "../../domain/email/ids.ts"
import { chargeAmountsOf } from "../phone/text-requests.ts"
import { ownWorld } from "../support/world.ts"
import {
  type MailingCompany,
  RECIPIENT_MICROS,
  makeMailingCompany,
  postMail,
} from "./mail-world.ts"
import { scaledMs } from "../support/scaled-time.ts"
import { once } from "node:events"
import { type AddressInfo, type Socket, createServer } from "node:net"

/** Steps of a session in order; `within` is inside the data, `dot` is the end of the data. */
const STEPS = ["banner", "EHLO", "MAIL", "RCPT", "DATA", "within", "dot"] as const

type Step = (typeof STEPS)[number]

/** How the relay fails at a step: `half` breaks off in the middle of its reply, `hang` never replies. */
interface Failure {
  readonly at: Step
  readonly how: "cut" | "half" | "hang"
}

/** An SMTP server that fails at a chosen step. */
interface FailingRelay {
  readonly url: string
  /** The mails that arrived complete, whatever the reply. */
  readonly copies: { readonly to: string; readonly bytes: string }[]
  failure: Failure | null
  /** Ends the open sessions, as a server does with idle ones. */
  readonly hangUp: () => Promise<void>
  readonly close: () => Promise<void>
}

const REPLIES = {
  banner: "220 relay ESMTP",
  EHLO: "250 relay",
  MAIL: "250 sender",
  RCPT: "250 recipient",
  DATA: "354 go on",
  within: null,
  dot: "250 2.0.0 taken",
} satisfies Record<Step, string | null>

const END = "\r\n.\r\n"

/** Opens the relay at a free port. */
async function openFailingRelay(): Promise<FailingRelay> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.on("error", () => socket.destroy())
    serveSession(failingRelay, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const hangUp = async () => {
    const ended = [...sockets].map((socket) => once(socket.end(), "close"))
    await Promise.all(ended)
  }
  const failingRelay: FailingRelay = {
    url: `smtp://127.0.0.1:${port}`,
    copies: [],
    failure: null,
    hangUp,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return failingRelay
}

function serveSession(failingRelay: FailingRelay, socket: Socket): void {
  let [read, to, isData] = ["", "", false]
  const reply = (step: Step) => {
    const text = REPLIES[step]
    const { failure } = failingRelay
    if (failure?.at !== step) {
      if (text !== null) socket.write(`${text}\r\n`)
    } else if (failure.how === "half") socket.end((text ?? "").slice(0, 6))
    else if (failure.how === "cut") socket.destroy()
  }
  const handleLine = (text: string) => {
    const word = text.slice(0, 4)
    if (word === "RCPT") to = /<(.*)>/.exec(text)?.[1] ?? ""
    if (word === "QUIT") socket.end("221 bye\r\n")
    else if (word === "RSET") socket.write("250 reset\r\n")
    else if (word === "EHLO" || word === "MAIL" || word === "RCPT" || word === "DATA") reply(word)
    isData = word === "DATA" && failingRelay.failure?.at !== "DATA"
  }
  reply("banner")
  socket.on("data", (piece) => {
    read += piece.toString("latin1")
    if (isData) reply("within")
    if (isData && failingRelay.failure?.at === "within") return
    for (;;) {
      const end = read.indexOf(isData ? END : "\r\n")
      if (end < 0 || socket.destroyed) return
      const text = read.slice(0, end)
      read = read.slice(end + (isData ? END.length : 2))
      if (isData) {
        isData = false
        failingRelay.copies.push({ to, bytes: text })
        reply("dot")
      } else handleLine(text)
    }
  })
}

const ADA = "ada@example.com"
/** Longer than one write to the socket. */
const LONG = "It is on its way.\n".repeat(10_000)

const failingRelay = await openFailingRelay()
afterAll(() => failingRelay.close())
const settings = { MAIL_URL: failingRelay.url }
const world = await ownWorld("settings", { rateLimits: "off", settings })
let company: MailingCompany
beforeEach(async () => {
  company = await makeMailingCompany(world)
  failingRelay.failure = null
  failingRelay.copies.length = 0
})

const advance = (duration: string) => world.operate("clock advance", { duration })
const statuses = async () => {
  const { emails } = await world.operate("email list", { company: company.companyId })
  return emails.map(({ status }: { status: string }) => status)
}
const points = STEPS.flatMap((at) =>
  // Inside the data there is no reply to break off.
  (at === "within" ? (["cut"] as const) : (["cut", "half"] as const)).map((how) => ({ at, how })),
)

describe("a relay that breaks the session off", () => {
  it.each(points)(
    "once at $at ($how) causes one charge and at most two copies",
    async (failure) => {
      await failingRelay.hangUp()
      failingRelay.failure = failure
      const headers = { "idempotency-key": "broken" }
      const sent = await postMail(world, company, { text: LONG }, headers)
      expect(sent.body).toEqual({ delivered: [], queued: [ADA], bounced: [] })
      const copiesBefore = failingRelay.copies.length
      expect(copiesBefore).toBe(failure.at === "dot" ? 1 : 0)
      failingRelay.failure = null
      const again = await postMail(world, company, { text: LONG }, headers)
      expect(again.body).toEqual(sent.body)
      expect(failingRelay.copies).toHaveLength(copiesBefore)
      await advance("15m")
      expect(failingRelay.copies).toHaveLength(copiesBefore + 1)
      expect(new Set(failingRelay.copies.map(({ bytes }) => bytes)).size).toBe(1)
      expect(failingRelay.copies.map(({ to }) => to)).toEqual(Array(copiesBefore + 1).fill(ADA))
      expect(await statuses()).toEqual(["relayed"])
      expect(await chargeAmountsOf(world, company)).toEqual([
        { micros: RECIPIENT_MICROS, state: "final" },
      ])
    },
  )

  it.each([
    { at: "MAIL", how: "cut" },
    { at: "dot", how: "cut" },
  ] as const)("every time at $at ($how) gets at most two copies", async (failure) => {
    await failingRelay.hangUp()
    failingRelay.failure = failure
    await postMail(world, company, { text: LONG })
    await advance("2h")
    expect(failingRelay.copies.length).toBe(failure.at === "dot" ? 2 : 0)
    expect(new Set(failingRelay.copies.map(({ bytes }) => bytes)).size).toBeLessThanOrEqual(1)
    expect(await statuses()).toEqual(["unknown"])
    expect(await chargeAmountsOf(world, company)).toEqual([
      { micros: RECIPIENT_MICROS, state: "final" },
    ])
  })
})

describe("a relay that stops answering", () => {
  it.each(STEPS)("at %s has an unknown outcome, unless it never greeted", async (at) => {
    failingRelay.failure = { at, how: "hang" }
    const timeouts = { greetingTimeout: scaledMs(300), socketTimeout: scaledMs(600) }
    const relay = openMailRelay({ url: failingRelay.url, warn: () => undefined, timeouts })
    const tag = "a0" as AddressTag
    const { companyId } = company
    const envelope = {
      companyId,
      mailId: "mail_1",
      addressTag: tag,
      from: "b@acme.example",
      to: ADA,
    }
    const bytes = Buffer.from(`Subject: Hello\r\n\r\n${LONG.replaceAll("\n", "\r\n")}`)
    const answer = await relay.deliver(envelope, bytes)
    const isBefore = at === "banner"
    expect(answer).toEqual(
      isBefore ? { answer: "deferred", code: "no_connection" } : { answer: "unknown" },
    )
    // The relay adapter does not retry by itself.
    expect(failingRelay.copies.length).toBeLessThanOrEqual(1)
    await relay.close()
    await failingRelay.hangUp()
  })
})
