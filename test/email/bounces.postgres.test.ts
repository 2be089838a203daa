/** Bounces at the listener: which reports are accepted, and what follows. */
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

const smtp = await openSmtpServer()
afterAll(() => smtp.close())
const settings = { MAIL_URL: smtp.url }
const world = await ownWorld("settings", { rateLimits: "off", settings })
const listener = await listenWith({})
afterAll(() => listener.stop())
let { port } = listener
let company: MailingCompany
beforeEach(async () => {
  company = await makeMailingCompany(world)
})

/** Starts the installation's listener, with some of its ports replaced. */
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

/** Runs `during` with another listener, whose ports are replaced. */
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

interface ReportFields {
  readonly action?: string
  readonly status?: string
  readonly type?: string
}

function report({
  action = "failed",
  status = "5.1.1",
  type = "report",
}: ReportFields = {}): string {
  const head = `Content-Type: multipart/${type}; report-type=delivery-status; boundary=b`
  const part = (kind: string, text: string) => `--b\r\nContent-Type: ${kind}\r\n\r\n${text}\r\n`
  const fields = `Reporting-MTA: dns; mx.example.com\r\n\r\nFinal-Recipient: rfc822; ${ADA}\r\nAction: ${action}\r\nStatus: ${status}\r\n`
  const parts = part("text/plain", "Sorry.") + part("message/delivery-status", fields)
  return `From: mx@example.com\r\nSubject: Undelivered\r\nMIME-Version: 1.0\r\n${head}\r\n\r\n${parts}--b--\r\n`
}

/** Delivers a mail to the listener; returns the reply code. */
async function deliver(to: string, raw: string): Promise<number> {
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

async function sendAndReadReturnPath(): Promise<string> {
  await postMail(world, company)
  await world.operate("wait")
  return smtp.arrived.findLast(({ from }) => from.endsWith(company.domain))?.from ?? ""
}

/** Returns the return path of the company's only mail, once the read model has it. */
async function readReturnPath(): Promise<string> {
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

describe("a report that a mail failed permanently", () => {
  it("suppresses the recipient: the next mail bounces without a connection", async () => {
    expect(await deliver(await sendAndReadReturnPath(), report())).toBe(250)
    expect(await suppressed()).toMatchObject([
      { email: ADA, reason: "bounced", sendingDomainId: null },
    ])
    const { connections } = smtp.activity
    const { body } = await postMail(world, company)
    expect(body).toEqual({ delivered: [], queued: [], bounced: [ADA] })
    expect(smtp.activity.connections).toBe(connections)
  })

  it("changes nothing if it arrives again after the suppression was lifted", async () => {
    const to = await sendAndReadReturnPath()
    await deliver(to, report())
    await suppressed()
    await world.operate("suppression lift", { company: company.companyId, email: ADA })
    expect(await deliver(to, report())).toBe(250)
    expect(await suppressed()).toEqual([])
  })

  it.each(["5.2.2", "5.7.1"])("does not suppress the address for status %s", async (status) => {
    expect(await deliver(await sendAndReadReturnPath(), report({ status }))).toBe(250)
    expect(await suppressed()).toEqual([])
    const { emails } = await world.operate("email list", { company: company.companyId })
    expect(emails).toMatchObject([{ status: "returned" }])
  })

  it.each([
    { action: "delayed", status: "4.4.1" },
    { action: "failed", status: "4.4.7" },
    { action: "delivered", status: "2.0.0" },
    { type: "mixed" },
  ])("suppresses nothing if it does not report a permanent failure: %j", async (fields) => {
    expect(await deliver(await sendAndReadReturnPath(), report(fields))).toBe(250)
    expect(await suppressed()).toEqual([])
  })

  it("is not an automatic reply", async () => {
    const away = "From: ada@example.com\r\nSubject: I am away\r\n\r\nBack on Monday.\r\n"
    expect(await deliver(await sendAndReadReturnPath(), away)).toBe(250)
    expect(await suppressed()).toEqual([])
  })

  it("is rejected if it is too long", async () => {
    const long = report().replace("Sorry.", "x".repeat(80).concat("\r\n").repeat(14_000))
    expect(await deliver(await sendAndReadReturnPath(), long)).toBe(552)
    expect(await suppressed()).toEqual([])
  })
})

describe("a report that cannot be processed yet", () => {
  it("is deferred while the read model of mails is behind, and accepted later", async () => {
    const to = await sendAndReadReturnPath()
    const behind = { ...world.ports.projector, waitUntilWritten: async () => false }
    await withListener({ projector: behind }, async () => {
      expect(await deliver(to, report())).toBe(451)
    })
    expect(await suppressed()).toEqual([])
    expect(await deliver(to, report())).toBe(250)
    expect(await suppressed()).toMatchObject([{ email: ADA, reason: "bounced" }])
  })

  it("is deferred if its fact cannot be stored", async () => {
    const to = await sendAndReadReturnPath()
    const execute = async () => {
      throw new Error("the store is unavailable")
    }
    const runner = Object.assign(Object.create(world.ports.runner), { execute })
    await withListener({ runner }, async () => {
      expect(await deliver(to, report())).toBe(451)
    })
    expect(await suppressed()).toEqual([])
  })

  it("is deferred while its mail is still being delivered, and accepted later", async () => {
    const early: Promise<[string, number]>[] = []
    smtp.rules = {
      data: async () => {
        early.push(readReturnPath().then(async (to) => [to, await deliver(to, report())]))
        await Promise.all(early)
        return null
      },
    }
    await postMail(world, company)
    smtp.rules = {}
    const [[to, code] = expect.fail("the mail was not delivered")] = await Promise.all(early)
    expect(code).toBe(451)
    expect(await suppressed()).toEqual([])
    expect(await deliver(to, report())).toBe(250)
    expect(await suppressed()).toMatchObject([{ email: ADA, reason: "bounced" }])
  })

  it("ends the retries of a mail with an unknown outcome", async () => {
    smtp.rules = { data: () => "cut" }
    const to = await sendAndReadReturnPath()
    smtp.rules = {}
    const { length } = smtp.arrived
    expect(await deliver(to, report())).toBe(250)
    await world.operate("clock advance", { duration: "80h" })
    expect(smtp.arrived).toHaveLength(length)
    const { emails } = await world.operate("email list", { company: company.companyId })
    expect(emails).toMatchObject([{ to: ADA, status: "returned", code: "5.1.1" }])
    const { jobs } = await world.operate("job list")
    expect(jobs.filter((row: { kind: string }) => row.kind === "hand-mail")).toEqual([])
  })
})

describe("a return path", () => {
  it("accepts nothing if it is forged or belongs to another mail", async () => {
    const to = await sendAndReadReturnPath()
    const forged = [
      to.replace(/[0-9a-f]{10}@/, "0000000000@"),
      to.replace(/^b\.([^.]+)\.0\./, "b.$1.1."),
      `postmaster@cp-bounce.${company.domain}`,
      "ada@example.com",
      to.replace("b.", "c."),
    ]
    for (const one of forged) expect([one, await deliver(one, report())]).toEqual([one, 550])
    const token = unsubscribeTokenOf(world.ports.sealing, { mailId: "mail_1", recipientIndex: 0 })
    expect(await deliver(`b.${token}@cp-bounce.${company.domain}`, report())).toBe(550)
    expect(await suppressed()).toEqual([])
  })

  it("is parsed back into its mail and recipient", () => {
    const { sealing } = world.ports
    const mailId = parseMailId("mail_0001") ?? expect.fail("the id is invalid")
    const address = returnPathOf(sealing, { mailId, recipientIndex: 7 }, "mail.example.com")
    expect(address.split("@")[0]?.length).toBeLessThanOrEqual(64)
    expect(copyFromReturnPath(sealing, address)).toEqual({ mailId, recipientIndex: 7 })
  })

  it("of an unknown mail accepts a report and changes nothing", async () => {
    const mailId = parseMailId("mail_unknown") ?? expect.fail("the id is invalid")
    const to = returnPathOf(world.ports.sealing, { mailId, recipientIndex: 0 }, company.domain)
    expect(await deliver(to, report())).toBe(250)
    expect(await suppressed()).toEqual([])
  })
})

describe("the listener", () => {
  it("defers a report that cannot be stored", async () => {
    const away = openBounceListener({ host: "127.0.0.1", port: 0 }, () => undefined)
    const listening = await away.listen(
      () => true,
      async () => {
        throw new Error("the store is unavailable")
      },
    )
    const before = port
    port = listening?.port ?? 0
    expect(await deliver("b.1.0.ab@cp-bounce.example.com", report())).toBe(451)
    port = before
    await listening?.stop()
  })

  it("offers neither authentication nor TLS", async () => {
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

  it("does not listen unless it is configured", async () => {
    const none = openBounceListener(null, () => undefined)
    expect(
      await none.listen(
        () => true,
        async () => undefined,
      ),
    ).toBeNull()
  })

  it("names the address that it cannot listen on", async () => {
    const taken = openBounceListener({ host: "127.0.0.1", port }, () => undefined)
    const listening = taken.listen(
      () => true,
      async () => undefined,
    )
    await expect(listening).rejects.toThrow(/^BOUNCE_LISTEN: 127\.0\.0\.1:\d+ cannot be opened/)
  })
})
