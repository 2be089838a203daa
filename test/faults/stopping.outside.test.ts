/** How the program ends: on a signal while its database hangs, and after an uncaught error. */
import { readFileSync } from "node:fs"
import { mkdir, readdir } from "node:fs/promises"
import process from "node:process"
import { afterEach, describe, expect, it } from "vitest"
import type { CuttableConnection } from "../support/cuttable-connection.ts"
import { openCuttableConnection } from "../support/cuttable-connection.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { untilFileAppears, interruptCommand, makeDataFolder } from "../support/server-process.ts"
import { worldDatabase } from "../support/world-database.ts"
import { newTextKeys, senderOverHttp } from "./text-load.ts"
import type { Company } from "../support/company.ts"
import { makeSender, expectSoundLedger } from "./charge-audit.ts"
import { scaledMs } from "../support/scaled-time.ts"

const STOPPED_WITHIN_MS = 10_000
const IMMEDIATELY_MS = 1_500

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Scene {
  readonly connection: CuttableConnection
  readonly folder: ServerDataFolder
  readonly server: ServerProcess
  readonly sender: Company
  /** Message id of the sent text, by idempotency key. */
  readonly acknowledged: ReadonlyMap<string, string>
}

/** A server that sent a text, and whose connection to its database can hang. */
async function openScene(settings: Record<string, string> = {}): Promise<Scene> {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const connection = await openCuttableConnection(database.url)
  closing.push(() => connection.close())
  const folder = await makeDataFolder({
    DATABASE_URL: connection.url,
    RATE_LIMITS: "off",
    ...settings,
  })
  closing.push(() => folder.removeFiles())
  const server = await folder.start()
  const sender = await makeSender(folder)
  const [name] = newTextKeys(1) as [string]
  const answer = await senderOverHttp(() => server.url, sender.key)(name, "+14155550101")
  expect(answer).toMatchObject({ status: 200 })
  await folder.operate("wait")
  const acknowledged = new Map([[name, answer?.body.id as string]])
  return { connection, folder, server, sender, acknowledged }
}

/** Makes a free call, which is buffered and stored some seconds later. */
async function readAccount({ server, sender }: Scene): Promise<void> {
  const { status } = await server.call(sender.key, "GET", "/api/v1/phone/messages")
  expect(status).toBe(200)
}

async function expectNothingLost({ folder, sender, acknowledged }: Scene): Promise<void> {
  const next = await folder.start()
  await folder.operate("wait")
  await expectSoundLedger(folder, { ...sender, acknowledged })
  expect(await next.endBySignal("SIGTERM")).toBe(0)
}

describe("a server whose database hangs", () => {
  it("stops within ten seconds, and logs what it could not close", async () => {
    const scene = await openScene()
    await readAccount(scene)
    scene.connection.silence()
    const signalledAt = performance.now()
    expect(await scene.server.endBySignal("SIGTERM")).toBe(1)
    expect(performance.now() - signalledAt).toBeLessThan(scaledMs(STOPPED_WITHIN_MS))
    const message = /"msg":"stopped before everything was closed: .*buffered API calls and refusals/
    expect(scene.server.log()).toMatch(message)
    scene.connection.failOver()
    await expectNothingLost(scene)
  })

  it.each([
    ["SIGTERM", "SIGINT", 130],
    ["SIGINT", "SIGTERM", 143],
  ] as const)(
    "ends immediately if %s is followed by %s",
    async (first, second, code) => {
      const { connection, server } = await openScene()
      connection.silence()
      process.kill(server.pid, first)
      // The server has received the first signal once it no longer accepts connections.
      await expect
        .poll(() =>
          fetch(server.url).then(
            () => true,
            () => false,
          ),
        )
        .toBe(false)
      const signalledAt = performance.now()
      expect(await server.endBySignal(second)).toBe(code)
      expect(performance.now() - signalledAt).toBeLessThan(scaledMs(IMMEDIATELY_MS))
    },
    180_000,
  )
})

const FAULTS = new URL("../../src/bootstrap/settings/injected-faults.ts", import.meta.url)
/** The source line that creates the error. */
const RAISED_AT =
  readFileSync(FAULTS, "utf8")
    .split("\n")
    .findIndex((line) => line.includes("new Error(`a stray ")) + 1

describe("an uncaught error", () => {
  it.each(["exception", "rejection"])(
    "stops the server cleanly: a stray %s",
    async (fault) => {
      const scene = await openScene({ NODE_ENV: "test", LEDGER_STRAY_FAULT: fault })
      await readAccount(scene)
      process.kill(scene.server.pid, "SIGUSR2")
      expect(await scene.server.ended).toBe(1)
      const lines = scene.server.log().trim().split("\n")
      expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
        expect.objectContaining({
          msg: "an uncaught error stops the process; this is a bug in the program",
          err: expect.objectContaining({
            message: `a stray ${fault}`,
            // A source map maps the bundle's line to this one.
            stack: expect.stringContaining(
              `/src/bootstrap/settings/injected-faults.ts:${RAISED_AT}:`,
            ),
          }),
        }),
      ])
      await expectNothingLost(scene)
    },
    180_000,
  )
})

it("stops cleanly on a signal before it serves", async () => {
  const folder = await makeDataFolder()
  closing.push(() => folder.removeFiles())
  await mkdir(folder.dataDir, { mode: 0o700 })
  const made = untilFileAppears(folder.dataDir, "postgres.new-")
  const { code } = await interruptCommand(folder, ["start"], made, ["SIGTERM"])
  expect(code).toBe(0)
  expect(await readdir(folder.dataDir)).toEqual(["folder.json"])
})

it("logs the signal that stopped it", async () => {
  const { server } = await openScene({ LOG_LEVEL: "info" })
  expect(await server.endBySignal("SIGTERM")).toBe(0)
  const lines = server.log().trim().split("\n")
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ msg: "stopping", askedBy: "SIGTERM" }),
  )
})
