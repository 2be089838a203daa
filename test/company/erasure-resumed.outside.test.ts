/** Erasures that are interrupted, seen by another process, or undone by an older backup. */
import { PROGRAM } from "../../src/slices.ts"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { Erasure } from "../../adapters/postgres/erasure/port.ts"
import { openPostgresErasure } from "../../adapters/postgres/erasure/postgres.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { restoreBackup } from "../../src/bootstrap/maintenance/restore-backup.ts"
import { writeBackup } from "../../src/storage/write-backup.ts"
import { roundCount } from "../faults/text-load.ts"
import { auditFaultsOf } from "../storage/store-contents.ts"
import { retryJobsOf } from "../effects/texts.ts"
import type { OwnPostgres } from "../support/embedded-postgres.ts"
import { openOwnPostgres } from "../support/embedded-postgres.ts"
import { executeSql, testDatabase } from "../support/test-database.ts"
import { type World, openWorld } from "../support/world.ts"
import {
  type PlantedCompany,
  dumpDatabase,
  databaseFiles,
  secretsFoundIn,
  plantPersonalData,
  readUnsealedStreams,
} from "./planted-data.ts"

const closing: (() => Promise<unknown>)[] = []
const server: OwnPostgres = await openOwnPostgres()
/** Shared by the tests, some of which restart it. Each test erases another company. */
let world = await openWorld("store", { server: server.url })
afterAll(async () => {
  await world.close()
  await server.close()
})
let companies = 0
let planted: PlantedCompany
beforeEach(async () => {
  companies += 1
  await world.operate("simulator set", { name: "carrier", outcome: "ok" })
  planted = await plantPersonalData(world, `xanthic${companies}`, `61${companies}`)
  await world.operate("company delete", { company: planted.companyId })
  await executeSql(world.databaseUrl, "analyze")
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const secretsIn = async (target: World) =>
  secretsFoundIn(
    [...(await dumpDatabase(target)), await readUnsealedStreams(target)],
    planted.secrets,
  )

const contents = async (target: World) =>
  (await databaseFiles(target)).map(({ content }) => content)

async function openErasures(target: World): Promise<readonly number[]> {
  const { jobs } = await target.operate("job list")
  return jobs
    .filter(({ kind }: { kind: string }) => kind === "erase-company")
    .map(({ jobId }: { jobId: number }) => jobId)
}

const deletionOf = async (target: World) =>
  (await target.operate("company show", { company: planted.companyId })).deleted

/** Makes a step fail once, before or after its work. */
function breakOnce(step: keyof Erasure, when: "before" | "after"): void {
  const { erasure } = world.ports
  const original = erasure[step]
  const failing = async (...given: readonly unknown[]) => {
    Object.assign(erasure, { [step]: original })
    if (when === "after") await Reflect.apply(original, erasure, given)
    throw new Error("interrupted")
  }
  Object.assign(erasure, { [step]: failing })
}

/** A clock that is fifty times as fast as the machine's. */
const fastPacer: Pacer = {
  elapsedMs: () => machinePacer.elapsedMs() * 50,
  pause: (ms, signal) => machinePacer.pause(ms / 50, signal),
}

/** Shortens the erasure's wait for old snapshots. Returns a function that restores it. */
function shortenSnapshotWait(): () => void {
  const erasure = world.ports.erasure as { wipeFiles: Erasure["wipeFiles"] }
  const original = erasure.wipeFiles
  const pool = openPool(world.databaseUrl, 2, () => undefined)
  closing.push(() => pool.end())
  const ports = {
    pool,
    pacer: fastPacer,
    forgetKeys: () => undefined,
    readModels: PROGRAM.readModels,
  }
  erasure.wipeFiles = openPostgresErasure(ports).wipeFiles
  return () => {
    erasure.wipeFiles = original
  }
}

/**
 * Where an erasure is interrupted. Without `LEDGER_DEEP=1` only the first ones, after which a part of the data is
 * erased, are tested.
 */
const INTERRUPTIONS = [
  ["after", "destroyKeys"],
  ["after", "deleteRows"],
  ["before", "listOpenJobs"],
  ["after", "listOpenJobs"],
  ["after", "wipeFiles"],
] as const

describe("an interrupted erasure", () => {
  it.each(INTERRUPTIONS.slice(0, roundCount(2, INTERRUPTIONS.length)))(
    "%s %s is completed after the next start",
    async (when, step) => {
      breakOnce(step, when)
      await world.operate("clock advance", { duration: "14d" })
      expect(world.warnings).toEqual([
        expect.stringMatching(/^job \d+ \(erase-company\) failed: Error: interrupted$/),
      ])
      // The company cannot be restored once its erasure has started.
      await expect(
        world.operate("company restore", { company: planted.companyId }),
      ).rejects.toThrow(/cannot be restored/)
      world = await world.restart()
      await retryJobsOf(world, planted.companyId, "erase-company")
      expect(await openErasures(world)).toEqual([])
      expect(await secretsIn(world)).toEqual([])
      expect(await auditFaultsOf(world)).toEqual([])
    },
    180_000,
  )

  it("continues once a stopped read model continues", async () => {
    const { projector } = world.ports
    const stopped = projector as { waitUntilWritten: typeof projector.waitUntilWritten }
    const original = stopped.waitUntilWritten
    let times = 0
    stopped.waitUntilWritten = async (position, timeoutMs, names) => {
      const isErasing = names === undefined && timeoutMs === 5_000 && (times += 1) === 1
      return isErasing ? false : original(position, timeoutMs, names)
    }
    await world.operate("clock advance", { duration: "14d" })
    stopped.waitUntilWritten = original
    await retryJobsOf(world, planted.companyId, "erase-company")
    expect(await secretsIn(world)).toEqual([])
  })

  it.each([
    [
      "a long read of the database",
      "here",
      "repeatable read; select from ledger.idempotent_requests limit 1",
    ],
    // Between two statements, and while its commit waits for the disk, it has no snapshot.
    ["an open transaction", "here", "read committed; select pg_current_xact_id()"],
    [
      "a transaction of another database",
      "elsewhere",
      "read committed; select pg_current_xact_id()",
    ],
  ])("waits for %s", async (_by, where, transaction) => {
    const connectionString = where === "here" ? world.databaseUrl : server.url
    const client = new pg.Client({ connectionString })
    await client.connect()
    closing.push(() => client.end())
    await client.query(`begin isolation level ${transaction}`)
    const restoreSnapshotWait = shortenSnapshotWait()
    await world.operate("clock advance", { duration: "14d" })
    const [jobId] = await openErasures(world)
    expect(jobId).toBeGreaterThan(0)
    expect(await deletionOf(world)).toMatchObject({ erasing: true, erased: null })
    // No row and no stream has the data any more; PostgreSQL keeps it for old snapshots.
    expect(secretsFoundIn([await readUnsealedStreams(world)], planted.secrets)).toEqual([])
    await client.query("commit")
    restoreSnapshotWait()
    await retryJobsOf(world, planted.companyId, "erase-company")
    expect(await openErasures(world)).toEqual([])
    const erased = new Date(world.ports.clock.now()).toISOString()
    expect(await deletionOf(world)).toMatchObject({ erasing: false, erased })
    expect(await secretsIn(world)).toEqual([])
    expect(secretsFoundIn(await contents(world), planted.secrets)).toEqual([])
  })
})

describe("multiple processes", () => {
  it("forget keys that one of them destroyed", async () => {
    const other = await openWorld("start", { url: world.databaseUrl })
    closing.push(() => other.close())
    const { companyId } = planted
    const sealed = await other.ports.sealing.seal(companyId, "company", "Zanzibar")
    expect(await other.ports.sealing.unseal(companyId, sealed)).toBe("Zanzibar")
    await world.ports.erasure.destroyKeys(companyId)
    expect(await world.ports.sealing.unseal(companyId, sealed)).toBeNull()
    await expect.poll(() => other.ports.sealing.unseal(companyId, sealed)).toBeNull()
    for (const { sealing } of [world.ports, other.ports]) {
      await expect(sealing.seal(companyId, "per_new", "Ada")).rejects.toThrow(/was erased/)
      await expect(sealing.tag(companyId, "Ada")).rejects.toThrow(/was erased/)
    }
  })
})

describe("a backup", () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "ledger-erased-"))
    closing.push(() => rm(folder, { recursive: true, force: true }))
  })

  /** Restores a backup of the current state to another database. */
  async function restored(): Promise<World> {
    let text = ""
    const { backupSet: tables, store } = world.ports
    const send = async (chunk: string) => {
      text += chunk
    }
    const { signal } = new AbortController()
    await writeBackup({ tables, store, send, progress: () => undefined, signal })
    const file = join(folder, "backup")
    await writeFile(file, text)
    const database = await testDatabase({ server: server.url })
    closing.push(() => database.drop())
    const dataDir = { LEDGER_DATA_DIR: join(folder, "data") }
    const config = readConfig({ DATABASE_URL: database.url, LEDGER_CLOCK: "test", ...dataDir })
    const log = { info: () => undefined, warn: () => undefined }
    await restoreBackup(config, file, log, { progress: () => undefined, signal })
    const there = await openWorld("start", { url: database.url })
    closing.push(() => there.close())
    return there
  }

  it("from before the erasure restores the data, which is erased again when it is due", async () => {
    const there = await restored()
    expect(await secretsIn(there)).toContain("person's email")
    await there.operate("clock advance", { duration: "14d" })
    expect(await secretsIn(there)).toEqual([])
    expect(await auditFaultsOf(there)).toEqual([])
  })

  it("from after the erasure restores no personal data", async () => {
    await world.operate("clock advance", { duration: "14d" })
    const there = await restored()
    expect(await secretsIn(there)).toEqual([])
    expect(await auditFaultsOf(there)).toEqual([])
    const { companyId } = planted
    await expect(there.ports.sealing.seal(companyId, "per_new", "Ada")).rejects.toThrow(
      /was erased/,
    )
  })
})
