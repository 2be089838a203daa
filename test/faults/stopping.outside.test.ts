/** How the program ends: when it is asked to while its database is silent, and by a fault of its own. */
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
const AT_ONCE_MS = 1_500

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Scene {
  readonly way: CuttableConnection
  readonly place: ServerDataFolder
  readonly server: ServerProcess
  readonly sender: Company
  /** The text that was sent, by its name. */
  readonly acknowledged: ReadonlyMap<string, string>
}

/** A server with a text sent, whose way to its database may fall silent. */
async function openScene(settings: Record<string, string> = {}): Promise<Scene> {
  const database = await worldDatabase()
  closing.push(() => database.drop())
  const way = await openCuttableConnection(database.url)
  closing.push(() => way.close())
  const place = await makeDataFolder({ DATABASE_URL: way.url, RATE_LIMITS: "off", ...settings })
  closing.push(() => place.removeFiles())
  const server = await place.start()
  const sender = await makeSender(place)
  const [name] = newTextKeys(1) as [string]
  const answer = await senderOverHttp(() => server.url, sender.key)(name, "+14155550101")
  expect(answer).toMatchObject({ status: 200 })
  await place.operate("wait")
  const acknowledged = new Map([[name, answer?.body.id as string]])
  return { way, place, server, sender, acknowledged }
}

/** Calls what costs nothing and is gathered, to be recorded some seconds later. */
async function readAccount({ server, sender }: Scene): Promise<void> {
  const { status } = await server.call(sender.key, "GET", "/api/v1/phone/messages")
  expect(status).toBe(200)
}

/** The next start finds everything that was acknowledged. */
async function expectWhole({ place, sender, acknowledged }: Scene): Promise<void> {
  const next = await place.start()
  await place.operate("wait")
  await expectSoundLedger(place, { ...sender, acknowledged })
  expect(await next.endBySignal("SIGTERM")).toBe(0)
}

describe("a server whose database is silent", () => {
  it("stops within ten seconds, and says what it could not do", async () => {
    const scene = await openScene()
    await readAccount(scene)
    scene.way.silence()
    const askedAt = performance.now()
    expect(await scene.server.endBySignal("SIGTERM")).toBe(1)
    expect(performance.now() - askedAt).toBeLessThan(scaledMs(STOPPED_WITHIN_MS))
    const said = /"msg":"stopped before everything was closed: .*buffered API calls and refusals/
    expect(scene.server.log()).toMatch(said)
    scene.way.failOver()
    await expectWhole(scene)
  })

  it.each([
    ["SIGTERM", "SIGINT", 130],
    ["SIGINT", "SIGTERM", 143],
  ] as const)(
    "ends at once where %s is followed by %s",
    async (first, second, code) => {
      const { way, server } = await openScene()
      way.silence()
      process.kill(server.pid, first)
      // It has heard the first one when it is not to be found any more.
      await expect
        .poll(() =>
          fetch(server.url).then(
            () => true,
            () => false,
          ),
        )
        .toBe(false)
      const askedAt = performance.now()
      expect(await server.endBySignal(second)).toBe(code)
      expect(performance.now() - askedAt).toBeLessThan(scaledMs(AT_ONCE_MS))
    },
    180_000,
  )
})

const FAULTS = new URL("../../src/bootstrap/settings/injected-faults.ts", import.meta.url)
/** The line of the source that makes the error. */
const RAISED_AT =
  readFileSync(FAULTS, "utf8")
    .split("\n")
    .findIndex((line) => line.includes("new Error(`a stray ")) + 1

describe("an error that nobody catches", () => {
  it.each(["exception", "rejection"])(
    "stops the server in order: a stray %s",
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
            // In the bundle it is another line.
            stack: expect.stringContaining(
              `/src/bootstrap/settings/injected-faults.ts:${RAISED_AT}:`,
            ),
          }),
        }),
      ])
      await expectWhole(scene)
    },
    180_000,
  )
})

it("stops in order where it is asked to before it serves", async () => {
  const place = await makeDataFolder()
  closing.push(() => place.removeFiles())
  await mkdir(place.dataDir, { mode: 0o700 })
  const made = untilFileAppears(place.dataDir, "postgres.new-")
  const { code } = await interruptCommand(place, ["start"], made, ["SIGTERM"])
  expect(code).toBe(0)
  expect(await readdir(place.dataDir)).toEqual(["folder.json"])
})

it("says what it was asked to stop by", async () => {
  const { server } = await openScene({ LOG_LEVEL: "info" })
  expect(await server.endBySignal("SIGTERM")).toBe(0)
  const lines = server.log().trim().split("\n")
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ msg: "stopping", askedBy: "SIGTERM" }),
  )
})
