/** PostgreSQL is killed with all its backends, under load; the program starts it again and goes on. */
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

const place = await ownDataFolder({ RATE_LIMITS: "off" })
const server = await startSupervised(place)
const sender = await makeSender(server)
const acknowledged = new Map<string, string>()

/** The address of the place's PostgreSQL. */
async function addressOfPostgres(): Promise<string> {
  const kept = await readCredentials(await openEmbeddedFolder(place.dataDir))
  if (kept === undefined) throw new Error("no PostgreSQL was made there")
  return embeddedDatabaseUrl(kept.port, kept.password, "ledger")
}

/** The ids of the first process of the place's PostgreSQL and of all that work for it. */
async function postgresProcesses(): Promise<readonly number[]> {
  const written = await readPidFile((await openEmbeddedFolder(place.dataDir)).clusterDir)
  if (written === undefined) throw new Error("no PostgreSQL runs there")
  const all = "select pid from pg_stat_activity"
  const backends = await queryRows<{ pid: number }>(await addressOfPostgres(), all)
  return [written.pid, ...backends.map(({ pid }) => pid)]
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    // The backend that told of the others has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

const { seed, between } = newSeededNumbers()

it.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))(
  `loses nothing and charges nothing twice over kill -9 of PostgreSQL (seed ${seed}, round %i)`,
  async () => {
    const load = startTextLoad(newTextKeys(TEXTS), senderOverHttp(server.address, sender.key))
    await load.untilAcknowledged(between(5, TEXTS - 40))
    const pids = await postgresProcesses()
    const before = new Map(load.acknowledged)
    const killedAt = performance.now()
    // Where the first process goes last, it has begun others by then, which are left over.
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
  const url = await addressOfPostgres()
  const writer = "select pid from pg_stat_activity where backend_type = 'walwriter'"
  const [found] = await queryRows<{ pid: number }>(url, writer)
  if (found === undefined) throw new Error("there is no WAL writer")
  const abortedAt = performance.now()
  // What a flush that fails ends in: PostgreSQL trusts nothing in memory, and recovers from its log.
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

it("has gone on in the same process all the time, and stops in order", async () => {
  expect(server.startCount()).toBe(1)
  expect(await server.stop()).toBe(0)
})

/** What keeps a PostgreSQL from being started again; resolves with what takes it away. */
const OBSTACLES: Readonly<Record<string, () => Promise<() => Promise<void>>>> = {
  "of another version": async () => {
    const file = join(place.dataDir, "postgres", "PG_VERSION")
    const version = await readFile(file, "utf8")
    await writeFile(file, "7\n")
    return () => writeFile(file, version)
  },
  "whose folder is gone": async () => {
    const folder = join(place.dataDir, "postgres")
    await rename(folder, `${folder}.away`)
    // An empty one that is made in its place would answer, and store nothing of what is asked.
    return async () => {
      await expect(access(folder)).rejects.toThrow("ENOENT")
      await rename(`${folder}.away`, folder)
    }
  },
}

it.each(Object.keys(OBSTACLES))(
  "ends with 1 beside a PostgreSQL %s, and goes on at the next start",
  async (name) => {
    const alone = await place.start()
    let isOver = false
    const names = newTextKeys(TEXTS)
    const load = startTextLoad(
      names,
      senderOverHttp(() => alone.url, sender.key),
      () => isOver,
    )
    await load.untilAcknowledged(10)
    const pids = await postgresProcesses()
    const clear = await OBSTACLES[name]?.()
    for (const pid of pids) kill(pid)
    const killedAt = performance.now()
    expect(await alone.ended).toBe(1)
    expect(performance.now() - killedAt).toBeLessThan(scaledMs(RECOVERY_LIMIT_MS))
    isOver = true
    await load.done
    await clear?.()
    const next = await place.start()
    const again = startTextLoad(
      names,
      senderOverHttp(() => next.url, sender.key),
    )
    await again.done
    for (const [text, id] of again.acknowledged) acknowledged.set(text, id)
    for (const [text, id] of load.acknowledged) expect(acknowledged.get(text)).toBe(id)
    await place.operate("wait")
    await expectSoundLedger(place, { ...sender, acknowledged })
    expect(await next.endBySignal("SIGTERM")).toBe(0)
  },
  180_000,
)
