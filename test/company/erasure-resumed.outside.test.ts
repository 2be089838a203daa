/** An erasure that is cut short at any place, done elsewhere, or undone by an older backup. */
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
/** One after another: some tests restart it. Each test erases a company of its own. */
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

const found = async (where: World) =>
  secretsFoundIn(
    [...(await dumpDatabase(where)), await readUnsealedStreams(where)],
    planted.secrets,
  )

/** The bytes of the database's files. */
const contents = async (where: World) => (await databaseFiles(where)).map(({ content }) => content)

/** The erasing work that waits; empty once it is done. */
async function waiting(where: World): Promise<readonly number[]> {
  const { jobs: work } = await where.operate("job list")
  return work
    .filter(({ kind }: { kind: string }) => kind === "erase-company")
    .map(({ jobId }: { jobId: number }) => jobId)
}

/** How the deletion stands, as an operator is shown it. */
const deleted = async (where: World) =>
  (await where.operate("company show", { company: planted.companyId })).deleted

/** Lets a step fail once, before or after it did what it does. */
function breakOnce(step: keyof Erasure, when: "before" | "after"): void {
  const { erasure } = world.ports
  const whole = erasure[step]
  const broken = async (...given: readonly unknown[]) => {
    Object.assign(erasure, { [step]: whole })
    if (when === "after") await Reflect.apply(whole, erasure, given)
    throw new Error("cut short")
  }
  Object.assign(erasure, { [step]: broken })
}

/** A clock that runs fifty times as fast as the machine's. */
const hurried: Pacer = {
  elapsedMs: () => machinePacer.elapsedMs() * 50,
  pause: (ms, signal) => machinePacer.pause(ms / 50, signal),
}

/** Lets an erasure have no patience with those who look back. Answers how to give it back. */
function makeImpatient(): () => void {
  const erasure = world.ports.erasure as { wipeFiles: Erasure["wipeFiles"] }
  const whole = erasure.wipeFiles
  const pool = openPool(world.databaseUrl, 2, () => undefined)
  closing.push(() => pool.end())
  const ports = {
    pool,
    pacer: hurried,
    forgetKeys: () => undefined,
    readModels: PROGRAM.readModels,
  }
  erasure.wipeFiles = openPostgresErasure(ports).wipeFiles
  return () => {
    erasure.wipeFiles = whole
  }
}

/**
 * Where it is cut short; before a step is after the one before it. Without `LEDGER_DEEP=1` it is where a
 * part is gone and another is not.
 */
const CUTS = [
  ["after", "destroyKeys"],
  ["after", "deleteRows"],
  ["before", "listOpenJobs"],
  ["after", "listOpenJobs"],
  ["after", "wipeFiles"],
] as const

describe("an erasure that is cut short", () => {
  it.each(CUTS.slice(0, roundCount(2, CUTS.length)))(
    "%s %s is done to its end by whoever starts next",
    async (when, step) => {
      breakOnce(step, when)
      await world.operate("clock advance", { duration: "14d" })
      expect(world.warnings).toEqual([
        expect.stringMatching(/^job \d+ \(erase-company\) failed: Error: cut short$/),
      ])
      // There is no way back any more, however far it came.
      await expect(
        world.operate("company restore", { company: planted.companyId }),
      ).rejects.toThrow(/cannot be restored/)
      world = await world.restart()
      await retryJobsOf(world, planted.companyId, "erase-company")
      expect(await waiting(world)).toEqual([])
      expect(await found(world)).toEqual([])
      expect(await auditFaultsOf(world)).toEqual([])
    },
    180_000,
  )

  it("by a read model that is stopped goes on when that does", async () => {
    const { projector } = world.ports
    const stopped = projector as { waitUntilWritten: typeof projector.waitUntilWritten }
    const whole = stopped.waitUntilWritten
    let times = 0
    stopped.waitUntilWritten = async (position, timeoutMs, names) => {
      const isErasing = names === undefined && timeoutMs === 5_000 && (times += 1) === 1
      return isErasing ? false : whole(position, timeoutMs, names)
    }
    await world.operate("clock advance", { duration: "14d" })
    stopped.waitUntilWritten = whole
    await retryJobsOf(world, planted.companyId, "erase-company")
    expect(await found(world)).toEqual([])
  })

  it.each([
    [
      "a long look at the database",
      "here",
      "repeatable read; select from ledger.idempotent_requests limit 1",
    ],
    // Between two statements it has no snapshot, as none while its commit waits for the disk.
    ["a transaction that is not through", "here", "read committed; select pg_current_xact_id()"],
    ["one of another database", "elsewhere", "read committed; select pg_current_xact_id()"],
  ])("by %s waits until that is over", async (_by, where, transaction) => {
    const connectionString = where === "here" ? world.databaseUrl : server.url
    const client = new pg.Client({ connectionString })
    await client.connect()
    closing.push(() => client.end())
    await client.query(`begin isolation level ${transaction}`)
    const makePatient = makeImpatient()
    await world.operate("clock advance", { duration: "14d" })
    const [workId] = await waiting(world)
    expect(workId).toBeGreaterThan(0)
    expect(await deleted(world)).toMatchObject({ erasing: true, erased: null })
    // No row and no stream shows it any more; PostgreSQL keeps it for whoever looks back.
    expect(secretsFoundIn([await readUnsealedStreams(world)], planted.secrets)).toEqual([])
    await client.query("commit")
    makePatient()
    await retryJobsOf(world, planted.companyId, "erase-company")
    expect(await waiting(world)).toEqual([])
    const erased = new Date(world.ports.clock.now()).toISOString()
    expect(await deleted(world)).toMatchObject({ erasing: false, erased })
    expect(await found(world)).toEqual([])
    expect(secretsFoundIn(await contents(world), planted.secrets)).toEqual([])
  })
})

describe("several processes", () => {
  it("forget the keys that one of them destroyed", async () => {
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

  /** What is written now, restored elsewhere. */
  async function restored(): Promise<World> {
    let text = ""
    const { backupSet: tables, store } = world.ports
    const send = async (piece: string) => {
      text += piece
    }
    const { signal } = new AbortController()
    await writeBackup({ tables, store, send, progress: () => undefined, signal })
    const file = join(folder, "backup")
    await writeFile(file, text)
    const made = await testDatabase({ server: server.url })
    closing.push(() => made.drop())
    const dataDir = { LEDGER_DATA_DIR: join(folder, "data") }
    const config = readConfig({ DATABASE_URL: made.url, LEDGER_CLOCK: "test", ...dataDir })
    const log = { info: () => undefined, warn: () => undefined }
    await restoreBackup(config, file, log, { progress: () => undefined, signal })
    const there = await openWorld("start", { url: made.url })
    closing.push(() => there.close())
    return there
  }

  it("from before the erasure brings all back, and it is erased again when its time comes", async () => {
    const there = await restored()
    expect(await found(there)).toContain("person's email")
    await there.operate("clock advance", { duration: "14d" })
    expect(await found(there)).toEqual([])
    expect(await auditFaultsOf(there)).toEqual([])
  })

  it("from after it brings nobody back", async () => {
    await world.operate("clock advance", { duration: "14d" })
    const there = await restored()
    expect(await found(there)).toEqual([])
    expect(await auditFaultsOf(there)).toEqual([])
    const { companyId } = planted
    await expect(there.ports.sealing.seal(companyId, "per_new", "Ada")).rejects.toThrow(
      /was erased/,
    )
  })
})
