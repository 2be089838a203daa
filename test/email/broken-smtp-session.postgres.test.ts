/** A relay that breaks off, or falls silent, at each point of the talk: what is answered, charged and sent. */
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

/** What it is asked for, in order; `within` is amid the data, `dot` behind it. */
const STEPS = ["banner", "EHLO", "MAIL", "RCPT", "DATA", "within", "dot"] as const

/** Where it is in a talk. */
type Step = (typeof STEPS)[number]

/** What it does there: `half` breaks off in the middle of its answer. */
interface Breaking {
  readonly at: Step
  readonly how: "cut" | "half" | "hang"
}

/** The server. */
interface TalkStand {
  readonly url: string
  /** The mails that it has as a whole, whatever it said to them. */
  readonly copies: { readonly to: string; readonly bytes: string }[]
  breaking: Breaking | null
  /** Ends the talks that are under way, as a server does with those that say nothing. */
  readonly hangUp: () => Promise<void>
  readonly close: () => Promise<void>
}

const SAYS = {
  banner: "220 stand ESMTP",
  EHLO: "250 stand",
  MAIL: "250 sender",
  RCPT: "250 recipient",
  DATA: "354 go on",
  within: null,
  dot: "250 2.0.0 taken",
} satisfies Record<Step, string | null>

const END = "\r\n.\r\n"

/** Opens it at a free port. */
async function openTalkStand(): Promise<TalkStand> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.on("error", () => socket.destroy())
    talk(stand, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const hangUp = async () => {
    const ended = [...sockets].map((socket) => once(socket.end(), "close"))
    await Promise.all(ended)
  }
  const stand: TalkStand = {
    url: `smtp://127.0.0.1:${port}`,
    copies: [],
    breaking: null,
    hangUp,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return stand
}

function talk(stand: TalkStand, socket: Socket): void {
  let [read, to, isData] = ["", "", false]
  const say = (step: Step) => {
    const text = SAYS[step]
    const { breaking } = stand
    if (breaking?.at !== step) {
      if (text !== null) socket.write(`${text}\r\n`)
    } else if (breaking.how === "half") socket.end((text ?? "").slice(0, 6))
    else if (breaking.how === "cut") socket.destroy()
  }
  const line = (text: string) => {
    const word = text.slice(0, 4)
    if (word === "RCPT") to = /<(.*)>/.exec(text)?.[1] ?? ""
    if (word === "QUIT") socket.end("221 bye\r\n")
    else if (word === "RSET") socket.write("250 reset\r\n")
    else if (word === "EHLO" || word === "MAIL" || word === "RCPT" || word === "DATA") say(word)
    isData = word === "DATA" && stand.breaking?.at !== "DATA"
  }
  say("banner")
  socket.on("data", (piece) => {
    read += piece.toString("latin1")
    if (isData) say("within")
    if (isData && stand.breaking?.at === "within") return
    for (;;) {
      const end = read.indexOf(isData ? END : "\r\n")
      if (end < 0 || socket.destroyed) return
      const text = read.slice(0, end)
      read = read.slice(end + (isData ? END.length : 2))
      if (isData) {
        isData = false
        stand.copies.push({ to, bytes: text })
        say("dot")
      } else line(text)
    }
  })
}

const ADA = "ada@example.com"
/** More than one piece of what is sent at once. */
const LONG = "It is on its way.\n".repeat(10_000)

const stand = await openTalkStand()
afterAll(() => stand.close())
const settings = { MAIL_URL: stand.url }
const world = await ownWorld("settings", { rateLimits: "off", settings })
let company: MailingCompany
beforeEach(async () => {
  company = await makeMailingCompany(world)
  stand.breaking = null
  stand.copies.length = 0
})

const advance = (duration: string) => world.operate("clock advance", { duration })
const standing = async () => {
  const { emails } = await world.operate("email list", { company: company.companyId })
  return emails.map(({ status }: { status: string }) => status)
}
const points = STEPS.flatMap((at) =>
  // Amid the data there is no answer to break off in.
  (at === "within" ? (["cut"] as const) : (["cut", "half"] as const)).map((how) => ({ at, how })),
)

describe("a relay that breaks the talk off", () => {
  it.each(points)("at $at ($how) once has one charge, and no third copy", async (breaking) => {
    await stand.hangUp()
    stand.breaking = breaking
    const headers = { "idempotency-key": "broken" }
    const sent = await postMail(world, company, { text: LONG }, headers)
    expect(sent.body).toEqual({ delivered: [], queued: [ADA], bounced: [] })
    const had = stand.copies.length
    expect(had).toBe(breaking.at === "dot" ? 1 : 0)
    stand.breaking = null
    const again = await postMail(world, company, { text: LONG }, headers)
    expect(again.body).toEqual(sent.body)
    expect(stand.copies).toHaveLength(had)
    await advance("15m")
    expect(stand.copies).toHaveLength(had + 1)
    expect(new Set(stand.copies.map(({ bytes }) => bytes)).size).toBe(1)
    expect(stand.copies.map(({ to }) => to)).toEqual(Array(had + 1).fill(ADA))
    expect(await standing()).toEqual(["relayed"])
    expect(await chargeAmountsOf(world, company)).toEqual([
      { micros: RECIPIENT_MICROS, state: "final" },
    ])
  })

  it.each([
    { at: "MAIL", how: "cut" },
    { at: "dot", how: "cut" },
  ] as const)("at $at ($how) ever again gets two copies at most", async (breaking) => {
    await stand.hangUp()
    stand.breaking = breaking
    await postMail(world, company, { text: LONG })
    await advance("2h")
    expect(stand.copies.length).toBe(breaking.at === "dot" ? 2 : 0)
    expect(new Set(stand.copies.map(({ bytes }) => bytes)).size).toBeLessThanOrEqual(1)
    expect(await standing()).toEqual(["unknown"])
    expect(await chargeAmountsOf(world, company)).toEqual([
      { micros: RECIPIENT_MICROS, state: "final" },
    ])
  })
})

describe("a relay that falls silent", () => {
  it.each(STEPS)("at %s may have the mail, unless it never greeted", async (at) => {
    stand.breaking = { at, how: "hang" }
    const timeouts = { greetingTimeout: scaledMs(300), socketTimeout: scaledMs(600) }
    const relay = openMailRelay({ url: stand.url, warn: () => undefined, timeouts })
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
    // Nothing is sent again by itself.
    expect(stand.copies.length).toBeLessThanOrEqual(1)
    await relay.close()
    await stand.hangUp()
  })
})
