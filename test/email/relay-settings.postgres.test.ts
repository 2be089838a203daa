/** A relay that takes nothing by our settings, each tried with a real server: mails wait, and it is said why. */
import { SMTPServer, type SMTPServerOptions } from "smtp-server"
import { expect, it, onTestFinished } from "vitest"
import { openMailRelay } from "../../adapters/providers/mailer/mail-relay.ts"
import type { AddressTag } from "../../domain/email/ids.ts"
import type { DoctorContext } from "../../src/frame/operator/cli/doctor-finding.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { examineMailer } from "../../src/email/providers/mailer.ts"
import { chargeAmountsOf } from "../phone/text-requests.ts"
import { openWorld, type World } from "../support/world.ts"
import { makeMailingCompany, postMail } from "./mail-world.ts"
import { openSmtpServer } from "./smtp-server.ts"
import { partialFake } from "../support/partial-fake.ts"

const ADA = "ada@example.com"
const NO_TLS: SMTPServerOptions = { disabledCommands: ["AUTH", "STARTTLS"] }

/** A world that sends by the relay of an address. */
async function worldWith(MAIL_URL: string): Promise<World> {
  const world = await openWorld("settings", { rateLimits: "off", settings: { MAIL_URL } })
  onTestFinished(() => world.close())
  return world
}

/** Opens a server; without a key of its own it offers TLS by one that everybody has, whose time is over. */
async function serverWith(options: SMTPServerOptions): Promise<{ port: number; heard: string[] }> {
  const heard: string[] = []
  const server = new SMTPServer({
    disableReverseLookup: true,
    closeTimeout: 200,
    authOptional: true,
    logger: false,
    onRcptTo: ({ address }, _session, done) => {
      heard.push(address)
      done()
    },
    ...options,
  })
  server.on("error", () => undefined)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as { port: number }).port, heard }
}

const refusing = (responseCode: number) => Object.assign(new Error("no"), { responseCode })

/** What `doctor` says of it. */
const examined = (url: string) =>
  examineMailer(partialFake<DoctorContext>({ settings: settingsReader({ MAIL_URL: url }) }))

const CASES: readonly {
  readonly what: string
  readonly options: SMTPServerOptions
  /** Not loopback by its name where it is to offer TLS. */
  readonly url: (port: number) => string
  /** Whether `doctor` sees it; default yes. */
  readonly isSeen?: false
}[] = [
  {
    what: "without STARTTLS",
    options: NO_TLS,
    url: (port) => `smtp://name:secret@0.0.0.0:${port}`,
  },
  {
    what: "whose certificate is none, behind STARTTLS",
    options: {},
    url: (port) => `smtp://0.0.0.0:${port}`,
  },
  {
    what: "whose certificate is none",
    options: { secure: true },
    url: (port) => `smtps://127.0.0.1:${port}`,
  },
  {
    what: "that speaks no TLS at all",
    options: NO_TLS,
    url: (port) => `smtps://127.0.0.1:${port}`,
  },
  {
    what: "that knows another password (535)",
    options: { onAuth: (_auth, _session, done) => done(refusing(535)) },
    url: (port) => `smtp://name:wrong@127.0.0.1:${port}`,
  },
  {
    what: "that wants a password (530)",
    options: { onMailFrom: (_sender, _session, done) => done(refusing(530)) },
    url: (port) => `smtp://127.0.0.1:${port}`,
    isSeen: false,
  },
]

const SAID = "the mail relay rejected our settings; check the user, password and port of MAIL_URL"

it.each(CASES)("a relay $what has mails wait", async ({ options, url, isSeen = true }) => {
  const { port, heard } = await serverWith(options)
  const warnings: string[] = []
  const warn = (message: string, error: unknown) =>
    void warnings.push(`${message}: ${String(error)}`)
  const relay = openMailRelay({ url: url(port), warn })
  onTestFinished(() => relay.close())
  const envelope = {
    companyId: "co_1",
    mailId: "mail_1",
    addressTag: "a0" as AddressTag,
    from: "b@acme.example",
    to: ADA,
  } as const
  const answer = await relay.deliver(envelope, Buffer.from("Subject: Hello\r\n\r\nHi"))
  expect(answer).toEqual({ answer: "deferred", code: "settings" })
  expect(heard).toEqual([])
  expect(warnings).toEqual([expect.stringContaining(SAID)])
  expect(warnings.join()).not.toMatch(/secret|wrong@/)
  const [finding] = await examined(url(port))
  if (isSeen) expect(finding).toMatchObject({ state: "wrong", fix: "check MAIL_URL" })
  // It sends nothing, so that it wants a password only shows where a mail goes.
  else expect(finding).toMatchObject({ state: "ok" })
})

it("a relay on this machine is believed, whatever its certificate, and has its password", async () => {
  const asked: unknown[] = []
  const { port, heard } = await serverWith({
    onAuth: ({ username, password }, { secure }, done) => {
      asked.push({ username, password, secure })
      done(null, { user: username })
    },
  })
  const world = await worldWith(`smtp://name:sec%40ret@127.0.0.1:${port}`)
  expect((await postMail(world, await makeMailingCompany(world))).body.queued).toEqual([ADA])
  expect(asked).toEqual([{ username: "name", password: "sec@ret", secure: true }])
  expect(heard).toEqual([ADA])
})

it("mails that waited for the settings go once these are fixed, for the one charge", async () => {
  let password = "other"
  const { port, heard } = await serverWith({
    onAuth: (given, _session, done) =>
      given.password === password ? done(null, { user: "name" }) : done(refusing(535)),
  })
  const url = `smtp://name:right@127.0.0.1:${port}`
  const world = await worldWith(url)
  const company = await makeMailingCompany(world)
  const sent = await postMail(world, company)
  expect([sent.status, sent.body]).toEqual([200, { delivered: [], queued: [ADA], bounced: [] }])
  await world.operate("wait")
  const { emails } = await world.operate("email list", { company: company.companyId })
  expect(emails).toMatchObject([{ status: "deferred", code: "settings" }])
  expect(await chargeAmountsOf(world, company)).toMatchObject([{ state: "open" }])
  expect(heard).toEqual([])
  expect(world.warnings.filter((one) => one.startsWith(SAID))).toHaveLength(1)
  expect(world.warnings.join()).not.toContain("right")
  password = "right"
  await world.operate("clock advance", { duration: "1m" })
  expect(heard).toEqual([ADA])
  expect(await chargeAmountsOf(world, company)).toMatchObject([{ state: "final" }])
  expect(await examined(url)).toMatchObject([{ state: "ok" }])
})

it("doctor says that a relay takes mail, and says nothing of the built-in mailer", async () => {
  const stand = await openSmtpServer()
  onTestFinished(stand.close)
  expect(await examined(stand.url)).toMatchObject([{ check: "mail", state: "ok" }])
  expect(await examineMailer(partialFake<DoctorContext>({ settings: settingsReader({}) }))).toEqual(
    [],
  )
})
