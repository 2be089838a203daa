/** Interrupted backups and starts, older copies of a store, and truncated streams at a start. */
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { getActiveResourcesInfo } from "node:process"
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest"
import { readPidFile } from "../../adapters/postgres/embedded/postmaster.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { restoreBackup } from "../../src/bootstrap/maintenance/restore-backup.ts"
import { isPidAlive } from "../support/embedded-postgres.ts"
import type { ServerDataFolder } from "../support/server-process.ts"
import { untilFileAppears, interruptCommand, makeDataFolder } from "../support/server-process.ts"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import { runDoctor } from "../../src/bootstrap/doctor/doctor.ts"
import { someEvents } from "../contracts/event-store-fixture.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { testDatabase } from "../support/test-database.ts"
import { makeCompany, openWorld, setLimit } from "../support/world.ts"
import { explainStartupFault } from "../../src/bootstrap/open/startup-faults.ts"

const BEFORE = "the former backup"

let home: ServerDataFolder
let folder: string
let file: string
beforeEach(async () => {
  home = await makeDataFolder()
  folder = dirname(home.dataDir)
  file = join(folder, "cut.backup")
  await mkdir(home.dataDir, { mode: 0o700 })
  await writeFile(file, BEFORE)
})
afterEach(() => home.removeFiles())

/** Prefix of the temporary file that becomes the backup. */
const TEMPORARY = ".cut.backup."
const untilTemporaryAppears = () => untilFileAppears(folder, TEMPORARY)
/** PostgreSQL writes its pid file before it accepts connections. */
const untilPostgresStarts = () => untilFileAppears(join(home.dataDir, "postgres"), "postmaster.pid")

/** Only the former backup exists, and PostgreSQL ends soon if it still runs. */
async function expectNothingLeft(): Promise<void> {
  expect((await readdir(folder)).toSorted()).toEqual(["cut.backup", "data"])
  expect(await readFile(file, "utf8")).toBe(BEFORE)
  const inData = await readdir(home.dataDir)
  expect(inData.filter((name) => name.startsWith("postgres.new-"))).toEqual([])
  await expect
    .poll(async () => {
      const left = await readPidFile(join(home.dataDir, "postgres"))
      return left !== undefined && isPidAlive(left.pid)
    })
    .toBe(false)
}

describe("an interrupted backup", () => {
  it("leaves nothing, whether its file appears, PostgreSQL starts or the file is written", async () => {
    await home.runCommand("company", "create", "acme")
    const moments = [
      untilTemporaryAppears,
      untilPostgresStarts,
      () => untilFileAppears(folder, TEMPORARY, "change"),
    ]
    for (const moment of moments) {
      const cut = await interruptCommand(home, ["backup", file], moment())
      expect(cut).toEqual({ code: 130, stderr: "Interrupted before the command was done.\n" })
      await expectNothingLeft()
    }
    const completed = await home.runCommand("backup", file)
    expect(completed).toMatchObject({ ok: true, file })
  })

  it("ends immediately on a second signal", async () => {
    await home.runCommand("company", "create", "acme")
    const cut = await interruptCommand(home, ["backup", file], untilPostgresStarts(), [
      "SIGINT",
      "SIGTERM",
    ])
    // The order of two concurrent signals depends on the operating system.
    expect(cut).toEqual({ code: expect.toBeOneOf([130, 143]), stderr: "" })
    await expectNothingLeft()
  })
})

it("leaves nothing of a first start that is interrupted while PostgreSQL is created", async () => {
  const making = untilFileAppears(home.dataDir, "postgres.new-")
  const cut = await interruptCommand(home, ["company", "create", "acme"], making)
  expect(cut).toMatchObject({ code: 130, stderr: expect.stringMatching(/^Interrupted/) })
  await expectNothingLeft()
})

it("does not blame the file if a restore is interrupted while it checks it", async () => {
  const log = { info: () => undefined, warn: () => undefined }
  const talk = { progress: () => undefined, signal: AbortSignal.abort() }
  const config = readConfig({ LEDGER_DATA_DIR: home.dataDir })
  await expect(restoreBackup(config, file, log, talk)).rejects.toBe(talk.signal.reason)
})

it("rejects an older copy with newer events of other programs, and so does doctor", async () => {
  const server = await EventStoreDbServer.start()
  onTestFinished(() => server.stop())
  const { url, drop } = await testDatabase()
  onTestFinished(drop)
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  const { companyId, key } = await makeCompany(world)
  // Room for four texts.
  await setLimit(world, { companyId }, { dollars: "0.045" })
  const send = async () => {
    const text = { to: "+14155550123", body: "hello" }
    return (await world.call(key, "POST", "/api/v1/phone/messages", { body: text })).status
  }
  expect([await send(), await send()]).toEqual([200, 200])
  await world.operate("wait")
  const position = server.log.records.at(-1)?.commit ?? 0n
  expect([await send(), await send(), await send()]).toEqual([200, 200, 429])
  await world.operate("wait")
  await world.close()
  const end = server.log.records.at(-1)?.commit ?? 0n
  server.log.truncate(position)
  const stranger = openEventStoreDb({ url: server.url })
  onTestFinished(() => stranger.close())
  await stranger.append("orders-1", someEvents(200), NO_STREAM)
  expect(server.log.records.at(-1)?.commit).toBeGreaterThan(end)
  const env = { DATABASE_URL: url, LEDGER_EVENTSTORE_URL: server.url, PORT: "0" }
  const findings = await runDoctor(readConfig(env), null)
  expect(findings.find(({ check }) => check === "event store")).toMatchObject({
    state: "wrong",
    says: expect.stringMatching(/contains events that this event store does not have/) as string,
  })
  await expect(openWorld("store", { url, eventStoreUrl: server.url })).rejects.toThrow(
    /The read model .* contains events that this event store does not have/,
  )
})

let server: EventStoreDbServer
let url: string
let drop: () => Promise<void>
beforeEach(async () => {
  server = await EventStoreDbServer.start()
  ;({ url, drop } = await testDatabase())
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  await makeCompany(world)
  await makeCompany(world)
  await world.operate("price set", { item: "text_segment", dollars: "0.02" })
  await world.close()
})
afterEach(async () => {
  await server.stop()
  await drop()
})

/** Runs `doctor` and finds its findings by check. */
async function doctor() {
  const env = { DATABASE_URL: url, LEDGER_EVENTSTORE_URL: server.url, PORT: "0" }
  const findings = await runDoctor(readConfig(env), null)
  return (check: string) => findings.find((one) => one.check === check)
}

const timers = (): number => getActiveResourcesInfo().filter((kind) => kind === "Timeout").length

it("rejects a truncated price book immediately, and leaves no timers behind", async () => {
  expect((await doctor())("streams")).toMatchObject({ state: "ok" })
  const before = timers()
  server.log.set("prices", { $maxCount: 1 })
  const refused: unknown = await openWorld("store", { url, eventStoreUrl: server.url }).catch(
    (error: unknown) => error,
  )
  expect(refused).toMatchObject({ name: "CorruptStream" })
  expect(String(explainStartupFault(refused, { eventStoreUrl: server.url }))).toMatch(
    /prices revision 1: .*store repair-settings prices/,
  )
  expect(timers()).toBeLessThanOrEqual(before)
})

it("makes doctor name each truncated stream of the installation", async () => {
  server.log.set("prices", { $maxCount: 1 })
  server.log.set("companies", { $tb: 1 })
  const found = await doctor()
  expect(found("event store")).toMatchObject({ state: "ok" })
  expect(found("streams")).toMatchObject({
    state: "wrong",
    says: expect.stringMatching(
      /companies revision 1: expected revision 0.*prices revision 1: expected revision 0/,
    ) as string,
    fix: expect.stringMatching(/store repair-settings/) as string,
  })
})
