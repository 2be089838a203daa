/** PostgreSQL is killed with all its backends under load; the program restarts it and continues. */
import { access, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import process from "node:process"
import { expect, it } from "vitest"
import { embeddedDatabaseUrl } from "../../adapters/postgres/embedded/start-embedded.ts"
import { openEmbeddedFolder, readCredentials } from "../../adapters/postgres/embedded/folder.ts"
import { readPidFile } from "../../adapters/postgres/embedded/postmaster.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { ownDataFolder } from "../support/server-process.ts"
import {
  RECOVERY_LIMIT_MS,
  newSeededNumbers,
  newTextKeys,
  senderOverHttp,
  roundCount,
  startTextLoad,
} from "./text-load.ts"
import { makeSender, expectSoundLedger } from "./charge-audit.ts"
import { startSupervised } from "./supervised-server.ts"
import { scaledMs } from "../support/scaled-time.ts"

const ROUNDS = roundCount(2, 20)
const TEXTS = 100

const folder = await ownDataFolder({ RATE_LIMITS: "off" })
const server = await startSupervised(folder)
const sender = await makeSender(server)
const acknowledged = new Map<string, string>()

/** The connection string of the embedded PostgreSQL. */
async function postgresUrl(): Promise<string> {
  const credentials = await readCredentials(await openEmbeddedFolder(folder.dataDir))
  if (credentials === undefined) throw new Error("no PostgreSQL was made there")
  return embeddedDatabaseUrl(credentials.port, credentials.password, "ledger")
}

async function postgresPids(): Promise<readonly number[]> {
  const written = await readPidFile((await openEmbeddedFolder(folder.dataDir)).clusterDir)
  if (written === undefined) throw new Error("no PostgreSQL runs there")
  const all = "select pid from pg_stat_activity"
  const backends = await queryRows<{ pid: number }>(await postgresUrl(), all)
  return [written.pid, ...backends.map(({ pid }) => pid)]
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    // The backend that listed the others has already ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

const { seed, between } = newSeededNumbers()

it.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))(
  `loses nothing and charges nothing twice over kill -9 of PostgreSQL (seed ${seed}, round %i)`,
  async () => {
    const load = startTextLoad(newTextKeys(TEXTS), senderOverHttp(server.address, sender.key))
    await load.untilAcknowledged(between(5, TEXTS - 40))
    const pids = await postgresPids()
    const before = new Map(load.acknowledged)
    const killedAt = performance.now()
    // If the postmaster is killed last, it may have started new backends, which are left over.
    for (const pid of between(0, 1) === 0 ? pids : pids.toReversed()) kill(pid)
    await load.done
    expect(before.size).toBeLessThan(TEXTS)
    expect(load.recoveredAfterMs(killedAt)).toBeLessThan(scaledMs(RECOVERY_LIMIT_MS))
    for (const [name, id] of load.acknowledged) acknowledged.set(name, id)
    for (const [name, id] of before) expect(acknowledged.get(name)).toBe(id)
    await server.operate("wait")
    await expectSoundLedger(server, { ...sender, acknowledged })
  },
  180_000,
)

it(`loses nothing and charges nothing twice over a PANIC of the WAL writer (seed ${seed})`, async () => {
  const load = startTextLoad(newTextKeys(TEXTS), senderOverHttp(server.address, sender.key))
  await load.untilAcknowledged(between(5, TEXTS - 40))
  const before = new Map(load.acknowledged)
  const url = await postgresUrl()
  const writer = "select pid from pg_stat_activity where backend_type = 'walwriter'"
  const [found] = await queryRows<{ pid: number }>(url, writer)
  if (found === undefined) throw new Error("there is no WAL writer")
  const abortedAt = performance.now()
  // Simulates a failed flush: PostgreSQL discards its memory and recovers from its log.
  process.kill(found.pid, "SIGABRT")
  await load.done
  expect(before.size).toBeLessThan(TEXTS)
  expect(load.recoveredAfterMs(abortedAt)).toBeLessThan(scaledMs(RECOVERY_LIMIT_MS))
  const isOther = async () => (await queryRows<{ pid: number }>(url, writer))[0]?.pid !== found.pid
  await expect.poll(isOther).toBe(true)
  for (const [name, id] of load.acknowledged) acknowledged.set(name, id)
  for (const [name, id] of before) expect(acknowledged.get(name)).toBe(id)
  await server.operate("wait")
  await expectSoundLedger(server, { ...sender, acknowledged })
})

it("served from the same process all the time, and stops cleanly", async () => {
  expect(server.startCount()).toBe(1)
  expect(await server.stop()).toBe(0)
})

/** Makes PostgreSQL fail to restart; each resolves with a function that removes the obstacle. */
const OBSTACLES: Readonly<Record<string, () => Promise<() => Promise<void>>>> = {
  "has another version": async () => {
    const file = join(folder.dataDir, "postgres", "PG_VERSION")
    const version = await readFile(file, "utf8")
    await writeFile(file, "7\n")
    return () => writeFile(file, version)
  },
  "lost its folder": async () => {
    const cluster = join(folder.dataDir, "postgres")
    await rename(cluster, `${cluster}.away`)
    // The program must not create an empty cluster, which would serve without the stored data.
    return async () => {
      await expect(access(cluster)).rejects.toThrow("ENOENT")
      await rename(`${cluster}.away`, cluster)
    }
  },
}

it.each(Object.keys(OBSTACLES))(
  "ends with exit code 1 if PostgreSQL %s, and serves again at the next start",
  async (name) => {
    const crashing = await folder.start()
    let isOver = false
    const names = newTextKeys(TEXTS)
    const load = startTextLoad(
      names,
      senderOverHttp(() => crashing.url, sender.key),
      () => isOver,
    )
    await load.untilAcknowledged(10)
    const pids = await postgresPids()
    const clear = await OBSTACLES[name]?.()
    for (const pid of pids) kill(pid)
    const killedAt = performance.now()
    expect(await crashing.ended).toBe(1)
    expect(performance.now() - killedAt).toBeLessThan(scaledMs(RECOVERY_LIMIT_MS))
    isOver = true
    await load.done
    await clear?.()
    const next = await folder.start()
    const again = startTextLoad(
      names,
      senderOverHttp(() => next.url, sender.key),
    )
    await again.done
    for (const [text, id] of again.acknowledged) acknowledged.set(text, id)
    for (const [text, id] of load.acknowledged) expect(acknowledged.get(text)).toBe(id)
    await folder.operate("wait")
    await expectSoundLedger(folder, { ...sender, acknowledged })
    expect(await next.endBySignal("SIGTERM")).toBe(0)
  },
  180_000,
)
