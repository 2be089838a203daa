/** Mails that come back to the listener: which are believed, and what follows. */
import { createConnection } from "node:net"
import { once } from "node:events"
import nodemailer from "nodemailer"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { openBounceListener } from "../../adapters/providers/mailer/bounce-listener.ts"
import { bounceDaemon } from "../../src/email/bounce-daemon.ts"
import {
  copyFromReturnPath,
  returnPathOf,
  unsubscribeTokenOf,
} from "../../src/email/mail-copy-tokens.ts"
import { parseMailId } from "../../domain/email/ids.ts"
import { type World, ownWorld } from "../support/world.ts"
import { type MailingCompany, makeMailingCompany, postMail } from "./mail-world.ts"
import { openSmtpServer } from "./smtp-server.ts"

const ADA = "ada@example.com"

const stand = await openSmtpServer()
afterAll(() => stand.close())
const settings = { MAIL_URL: stand.url }
const world = await ownWorld("settings", { rateLimits: "off", settings })
const listener = await listenWith({})
afterAll(() => listener.stop())
let { port } = listener
let company: MailingCompany
beforeEach(async () => {
  company = await makeMailingCompany(world)
})

/** Has the installation listen, with some of its parts replaced. */
async function listenWith(replaced: Partial<World["ports"]>) {
  const bounces = openBounceListener({ host: "127.0.0.1", port: 0 }, world.ports.log.warn)
  const listening = Promise.withResolvers<number>()
  const log = {
    ...world.ports.log,
    info: (_message: string, details?: object) =>
      listening.resolve((details as { port: number }).port),
  }
  const started = await bounceDaemon.start({ ...world.ports, ...replaced, log, bounces })
  return { port: await listening.promise, stop: started.stop }
}

/** Has it listen another way meanwhile. */
async function withListener(replaced: Partial<World["ports"]>, during: () => Promise<void>) {
  const before = port
  const other = await listenWith(replaced)
  port = other.port
  try {
    await during()
  } finally {
    port = before
    await other.stop()
  }
}

interface Said {
  readonly action?: string
  readonly status?: string
  readonly type?: string
}

function report({ action = "failed", status = "5.1.1", type = "report" }: Said = {}): string {
  const head = `Content-Type: multipart/${type}; report-type=delivery-status; boundary=b`
  const part = (kind: string, text: string) => `--b\r\nContent-Type: ${kind}\r\n\r\n${text}\r\n`
  const fields = `Reporting-MTA: dns; mx.example.com\r\n\r\nFinal-Recipient: rfc822; ${ADA}\r\nAction: ${action}\r\nStatus: ${status}\r\n`
  const parts = part("text/plain", "Sorry.") + part("message/delivery-status", fields)
  return `From: mx@example.com\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\n${head}\r\n\r\n${parts}--b--\r\n`
}

/** Brings a mail to the listener; answers the code it was told. */
async function bring(to: string, raw: string): Promise<number> {
  const transport = nodemailer.createTransport({ host: "127.0.0.1", port, secure: false })
  try {
    const { response } = await transport.sendMail({ envelope: { from: "", to }, raw })
    return Number(response.slice(0, 3))
  } catch (error) {
    return (error as { responseCode?: number }).responseCode ?? 0
  } finally {
    transport.close()
  }
}

/** Sends a mail; answers where it comes back to. */
async function sent(): Promise<string> {
  await postMail(world, company)
  await world.operate("wait")
  return stand.arrived.findLast(({ from }) => from.endsWith(company.domain))?.from ?? ""
}

/** Where the company's only mail comes back to, once the read models know it. */
async function knownWay(): Promise<string> {
  await world.ports.projector.waitUntilWritten(await world.ports.store.head(), 5_000, ["mails"])
  const { emails } = await world.operate("email list", { company: company.companyId })
  return returnPathOf(
    world.ports.sealing,
    { mailId: emails[0].mailId, recipientIndex: 0 },
    company.domain,
  )
}

const suppressed = async () => {
  await world.operate("wait")
  const named = { company: company.companyId }
  return (await world.operate("suppression list", named)).suppressions
}

describe("a report that a mail failed for good", () => {
  it("has its recipient not written to again, without a connection", async () => {
    expect(await bring(await sent(), report())).toBe(250)
    expect(await suppressed()).toMatchObject([
      { email: ADA, reason: "bounced", sendingDomainId: null },
    ])
    const { connections } = stand.asked
    const { body } = await postMail(world, company)
    expect(body).toEqual({ delivered: [], queued: [], bounced: [ADA] })
    expect(stand.asked.connections).toBe(connections)
  })

  it("changes nothing once it was lifted, when it comes again", async () => {
    const to = await sent()
    await bring(to, report())
    await suppressed()
    await world.operate("suppression lift", { company: company.companyId, email: ADA })
    expect(await bring(to, report())).toBe(250)
    expect(await suppressed()).toEqual([])
  })

  it.each(["5.2.2", "5.7.1"])("suppresses no living address: %s", async (status) => {
    expect(await bring(await sent(), report({ status }))).toBe(250)
    expect(await suppressed()).toEqual([])
    const { emails } = await world.operate("email list", { company: company.companyId })
    expect(emails).toMatchObject([{ status: "returned" }])
  })

  it.each([
    { action: "delayed", status: "4.4.1" },
    { action: "failed", status: "4.4.7" },
    { action: "delivered", status: "2.0.0" },
    { type: "mixed" },
  ])("is none: %j", async (said) => {
    expect(await bring(await sent(), report(said))).toBe(250)
    expect(await suppressed()).toEqual([])
  })

  it("is none where somebody is away", async () => {
    const away = "From: ada@example.com\r\nSubject: I am away\r\n\r\nBack on Monday.\r\n"
    expect(await bring(await sent(), away)).toBe(250)
    expect(await suppressed()).toEqual([])
  })

  it("is refused where it is too long", async () => {
    const long = report().replace("Sorry.", "x".repeat(80).concat("\r\n").repeat(14_000))
    expect(await bring(await sent(), long)).toBe(552)
    expect(await suppressed()).toEqual([])
  })
})

describe("a report that comes early", () => {
  it("is not taken where the read model of mails is behind, and is when it comes again", async () => {
    const to = await sent()
    const behind = { ...world.ports.projector, waitUntilWritten: async () => false }
    await withListener({ projector: behind }, async () => {
      expect(await bring(to, report())).toBe(451)
    })
    expect(await suppressed()).toEqual([])
    expect(await bring(to, report())).toBe(250)
    expect(await suppressed()).toMatchObject([{ email: ADA, reason: "bounced" }])
  })

  it("is not taken where the fact cannot be stored", async () => {
    const to = await sent()
    const execute = async () => {
      throw new Error("the store is away")
    }
    const runner = Object.assign(Object.create(world.ports.runner), { execute })
    await withListener({ runner }, async () => {
      expect(await bring(to, report())).toBe(451)
    })
    expect(await suppressed()).toEqual([])
  })

  it("is not taken while the mail is being handed over, and is when it comes again", async () => {
    const early: Promise<[string, number]>[] = []
    stand.rules = {
      data: async () => {
        early.push(knownWay().then(async (to) => [to, await bring(to, report())]))
        await Promise.all(early)
        return null
      },
    }
    await postMail(world, company)
    stand.rules = {}
    const [[to, code] = expect.fail("it was handed over")] = await Promise.all(early)
    expect(code).toBe(451)
    expect(await suppressed()).toEqual([])
    expect(await bring(to, report())).toBe(250)
    expect(await suppressed()).toMatchObject([{ email: ADA, reason: "bounced" }])
  })

  it("ends the trying of a mail of which nobody knew whether it was taken", async () => {
    stand.rules = { data: () => "cut" }
    const to = await sent()
    stand.rules = {}
    const { length } = stand.arrived
    expect(await bring(to, report())).toBe(250)
    await world.operate("clock advance", { duration: "80h" })
    expect(stand.arrived).toHaveLength(length)
    const { emails } = await world.operate("email list", { company: company.companyId })
    expect(emails).toMatchObject([{ to: ADA, status: "returned", code: "5.1.1" }])
    const { jobs: work } = await world.operate("job list")
    expect(work.filter((row: { kind: string }) => row.kind === "hand-mail")).toEqual([])
  })
})

describe("an address of ours", () => {
  it("takes nothing where it is forged, or another's", async () => {
    const to = await sent()
    const forged = [
      to.replace(/[0-9a-f]{10}@/, "0000000000@"),
      to.replace(/^b\.([^.]+)\.0\./, "b.$1.1."),
      `postmaster@cp-bounce.${company.domain}`,
      "ada@example.com",
      to.replace("b.", "c."),
    ]
    for (const one of forged) expect([one, await bring(one, report())]).toEqual([one, 550])
    const token = unsubscribeTokenOf(world.ports.sealing, { mailId: "mail_1", recipientIndex: 0 })
    expect(await bring(`b.${token}@cp-bounce.${company.domain}`, report())).toBe(550)
    expect(await suppressed()).toEqual([])
  })

  it("is read as it was made", () => {
    const { sealing } = world.ports
    const mailId = parseMailId("mail_0001") ?? expect.fail("it is one")
    const address = returnPathOf(sealing, { mailId, recipientIndex: 7 }, "mail.example.com")
    expect(address.split("@")[0]?.length).toBeLessThanOrEqual(64)
    expect(copyFromReturnPath(sealing, address)).toEqual({ mailId, recipientIndex: 7 })
  })

  it("of no mail that is known takes a report, and nothing follows", async () => {
    const mailId = parseMailId("mail_nobody") ?? expect.fail("it is one")
    const to = returnPathOf(world.ports.sealing, { mailId, recipientIndex: 0 }, company.domain)
    expect(await bring(to, report())).toBe(250)
    expect(await suppressed()).toEqual([])
  })
})

describe("the listener", () => {
  it("has whoever brings a report come again where it cannot be kept", async () => {
    const away = openBounceListener({ host: "127.0.0.1", port: 0 }, () => undefined)
    const listening = await away.listen(
      () => true,
      async () => {
        throw new Error("the store is away")
      },
    )
    const before = port
    port = listening?.port ?? 0
    expect(await bring("b.1.0.ab@cp-bounce.example.com", report())).toBe(451)
    port = before
    await listening?.stop()
  })

  it("signs nobody in, and offers no TLS by a key that everybody has", async () => {
    const socket = createConnection(port, "127.0.0.1")
    await once(socket, "data")
    socket.write("EHLO test\r\n")
    const [greeting] = (await once(socket, "data")) as [Buffer]
    expect(greeting.toString()).not.toMatch(/AUTH|STARTTLS/)
    socket.write("AUTH PLAIN AGEAYg==\r\n")
    const [answer] = (await once(socket, "data")) as [Buffer]
    expect(answer.toString()).toMatch(/^5/)
    socket.destroy()
  })

  it("is not there unless it is asked for", async () => {
    const none = openBounceListener(null, () => undefined)
    expect(
      await none.listen(
        () => true,
        async () => undefined,
      ),
    ).toBeNull()
  })

  it("says which address it cannot have", async () => {
    const taken = openBounceListener({ host: "127.0.0.1", port }, () => undefined)
    const listening = taken.listen(
      () => true,
      async () => undefined,
    )
    await expect(listening).rejects.toThrow(/^BOUNCE_LISTEN: 127\.0\.0\.1:\d+ cannot be opened/)
  })
})
