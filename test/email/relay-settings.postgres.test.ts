/** Relays that reject our settings, each tried with a real server: mails wait, and a warning gives the reason. */
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

/** Opens a world that sends by a relay. */
async function worldWith(MAIL_URL: string): Promise<World> {
  const world = await openWorld("settings", { rateLimits: "off", settings: { MAIL_URL } })
  onTestFinished(() => world.close())
  return world
}

/** Opens a server; by default it offers TLS with the package's public, expired certificate. */
async function serverWith(
  options: SMTPServerOptions,
): Promise<{ port: number; recipients: string[] }> {
  const recipients: string[] = []
  const server = new SMTPServer({
    disableReverseLookup: true,
    closeTimeout: 200,
    authOptional: true,
    logger: false,
    onRcptTo: ({ address }, _session, done) => {
      recipients.push(address)
      done()
    },
    ...options,
  })
  server.on("error", () => undefined)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as { port: number }).port, recipients }
}

const refusing = (responseCode: number) => Object.assign(new Error("no"), { responseCode })

/** The findings of `doctor` about a relay. */
const examined = (url: string) =>
  examineMailer(partialFake<DoctorContext>({ settings: settingsReader({ MAIL_URL: url }) }))

const CASES: readonly {
  readonly relay: string
  readonly options: SMTPServerOptions
  /** Uses 0.0.0.0 where the relay must not count as loopback. */
  readonly url: (port: number) => string
  /** Whether `doctor` finds the fault; default yes. */
  readonly isFound?: false
}[] = [
  {
    relay: "without STARTTLS",
    options: NO_TLS,
    url: (port) => `smtp://name:secret@0.0.0.0:${port}`,
  },
  {
    relay: "with an invalid certificate after STARTTLS",
    options: {},
    url: (port) => `smtp://0.0.0.0:${port}`,
  },
  {
    relay: "with an invalid certificate",
    options: { secure: true },
    url: (port) => `smtps://127.0.0.1:${port}`,
  },
  {
    relay: "without TLS",
    options: NO_TLS,
    url: (port) => `smtps://127.0.0.1:${port}`,
  },
  {
    relay: "that rejects the password (535)",
    options: { onAuth: (_auth, _session, done) => done(refusing(535)) },
    url: (port) => `smtp://name:wrong@127.0.0.1:${port}`,
  },
  {
    relay: "that requires a password (530)",
    options: { onMailFrom: (_sender, _session, done) => done(refusing(530)) },
    url: (port) => `smtp://127.0.0.1:${port}`,
    isFound: false,
  },
]

const WARNING =
  "the mail relay rejected our settings; check the user, password and port of MAIL_URL"

it.each(CASES)("mails wait for a relay $relay", async ({ options, url, isFound = true }) => {
  const { port, recipients } = await serverWith(options)
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
  expect(recipients).toEqual([])
  expect(warnings).toEqual([expect.stringContaining(WARNING)])
  expect(warnings.join()).not.toMatch(/secret|wrong@/)
  const [finding] = await examined(url(port))
  if (isFound) expect(finding).toMatchObject({ state: "wrong", fix: "check MAIL_URL" })
  // `doctor` sends no mail, so it does not notice that a password is required.
  else expect(finding).toMatchObject({ state: "ok" })
})

it("a relay on this machine is trusted with any certificate, and gets the password", async () => {
  const logins: unknown[] = []
  const { port, recipients } = await serverWith({
    onAuth: ({ username, password }, { secure }, done) => {
      logins.push({ username, password, secure })
      done(null, { user: username })
    },
  })
  const world = await worldWith(`smtp://name:sec%40ret@127.0.0.1:${port}`)
  expect((await postMail(world, await makeMailingCompany(world))).body.queued).toEqual([ADA])
  expect(logins).toEqual([{ username: "name", password: "sec@ret", secure: true }])
  expect(recipients).toEqual([ADA])
})

it("mails that waited for the settings are sent after they are fixed, without a second charge", async () => {
  let password = "other"
  const { port, recipients } = await serverWith({
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
  expect(recipients).toEqual([])
  expect(world.warnings.filter((one) => one.startsWith(WARNING))).toHaveLength(1)
  expect(world.warnings.join()).not.toContain("right")
  password = "right"
  await world.operate("clock advance", { duration: "1m" })
  expect(recipients).toEqual([ADA])
  expect(await chargeAmountsOf(world, company)).toMatchObject([{ state: "final" }])
  expect(await examined(url)).toMatchObject([{ state: "ok" }])
})

it("doctor reports a working relay, and nothing about the simulated mailer", async () => {
  const smtp = await openSmtpServer()
  onTestFinished(smtp.close)
  expect(await examined(smtp.url)).toMatchObject([{ check: "mail", state: "ok" }])
  expect(await examineMailer(partialFake<DoctorContext>({ settings: settingsReader({}) }))).toEqual(
    [],
  )
})
