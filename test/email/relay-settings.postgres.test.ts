/** A relay that takes nothing by our settings, each tried with a real server: mails wait, and it is said why. */
import { SMTPServer } from "smtp-server"
import type { SMTPServerOptions } from "smtp-server"
import { afterAll, expect, it, onTestFinished } from "vitest"
import type { Examined } from "../../src/frame/operator/examined.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import { examineMailer } from "../../src/email/providers/examine-mailer.ts"
import { chargesOf } from "../phone/texting.ts"
import type { World } from "../support/world.ts"
import { openWorld } from "../support/world.ts"
import { makeMailing, sendMail } from "./mailing.ts"
import { openSmtpStand } from "./smtp-stand.ts"

const ADA = "ada@example.com"
const NO_TLS: SMTPServerOptions = { disabledCommands: ["AUTH", "STARTTLS"] }

const worlds: World[] = []
afterAll(async () => {
  for (const world of worlds) await world.close()
})

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
  examineMailer({ settings: settingsIn({ MAIL_URL: url }) } as unknown as Examined)

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

it.each(CASES)("a relay $what has mails wait", async ({ options, url, isSeen = true }) => {
  const { port, heard } = await serverWith(options)
  const settings = { MAIL_URL: url(port) }
  const world = await openWorld("settings", { rateLimits: "off", settings })
  worlds.push(world)
  const company = await makeMailing(world)
  const sent = await sendMail(world, company)
  expect([sent.status, sent.body]).toEqual([200, { delivered: [], queued: [ADA], bounced: [] }])
  await world.operate("wait")
  const { emails } = await world.operate("email list", { company: company.companyId })
  expect(emails).toMatchObject([{ status: "deferred", code: "settings" }])
  expect(await chargesOf(world, company)).toMatchObject([{ state: "open" }])
  expect(heard).toEqual([])
  const said = "the relay of MAIL_URL takes no mail by these settings"
  expect(world.warnings.filter((one) => one.startsWith(said))).toHaveLength(1)
  expect(world.warnings.join()).not.toMatch(/secret|wrong@/)
  const [finding] = await examined(settings.MAIL_URL)
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
  const settings = { MAIL_URL: `smtp://name:sec%40ret@127.0.0.1:${port}` }
  const world = await openWorld("settings", { rateLimits: "off", settings })
  worlds.push(world)
  expect((await sendMail(world, await makeMailing(world))).body.queued).toEqual([ADA])
  expect(asked).toEqual([{ username: "name", password: "sec@ret", secure: true }])
  expect(heard).toEqual([ADA])
})

it("mails that waited for the settings go once those are mended, for the one charge", async () => {
  let password = "other"
  const { port, heard } = await serverWith({
    onAuth: (given, _session, done) =>
      given.password === password ? done(null, { user: "name" }) : done(refusing(535)),
  })
  const settings = { MAIL_URL: `smtp://name:right@127.0.0.1:${port}` }
  const world = await openWorld("settings", { rateLimits: "off", settings })
  worlds.push(world)
  const company = await makeMailing(world)
  await sendMail(world, company)
  password = "right"
  await world.operate("clock advance", { duration: "1m" })
  expect(heard).toEqual([ADA])
  expect(await chargesOf(world, company)).toMatchObject([{ state: "final" }])
  expect(await examined(settings.MAIL_URL)).toMatchObject([{ state: "ok" }])
})

it("doctor says that a relay takes mail, and says nothing of the built-in mailer", async () => {
  const stand = await openSmtpStand()
  onTestFinished(stand.close)
  expect(await examined(stand.url)).toMatchObject([{ check: "mail", state: "ok" }])
  expect(await examineMailer({ settings: settingsIn({}) } as unknown as Examined)).toEqual([])
})
