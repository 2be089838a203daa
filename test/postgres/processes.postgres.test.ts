import { describe, expect, it, onTestFinished, vi } from "vitest"
import type { RegisteredProcess } from "../../adapters/processes/postgres.ts"
import { registerProcess } from "../../adapters/processes/postgres.ts"
import { cuttable } from "../support/cuttable.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const database = await databaseUnderTest()
const pool = database.pool()

/** Registers a process that is signed off after the running test. */
async function register(url = database.url) {
  const warnings: string[] = []
  const process = await registerProcess(url, (message) => warnings.push(message))
  onTestFinished(() => process.close())
  return { process, warnings }
}

/** Breaks the connection that holds a process's lock. */
async function kill(process: RegisteredProcess): Promise<void> {
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(l.pid, 5000) from ledger.processes p
     join pg_locks l on l.locktype = 'advisory' and l.objid::bigint = p.lock_key and l.objsubid = 2
     where p.process_id = $1 and l.database =
       (select oid from pg_database where datname = current_database())`,
    [process.own],
  )
  if (rowCount !== 1) throw new Error("the process holds one lock")
}

async function rowsOf(process: RegisteredProcess): Promise<number> {
  const { rowCount } = await pool.query("select from ledger.processes where process_id = $1", [
    process.own,
  ])
  return rowCount ?? 0
}

describe("a registered process", () => {
  it("lives, for itself and for others, until it is closed", async () => {
    const [{ process: a }, { process: b }] = await Promise.all([register(), register()])
    expect(a.own).not.toBe(b.own)
    expect(await Promise.all([a.isAlive(a.own), a.isAlive(b.own), b.isAlive(a.own)])).toEqual([
      true,
      true,
      true,
    ])
    const c = await registerProcess(database.url, () => undefined)
    await c.close()
    expect(await a.isAlive(c.own)).toBe(false)
    expect(await rowsOf(c)).toBe(0)
  })

  it("is not alive where nobody of this name registered", async () => {
    const { process } = await register()
    expect(await process.isAlive("prc_nobody")).toBe(false)
  })

  it("answers many questions at once without a word from the driver", async () => {
    const { process: a } = await register()
    const { process: b } = await register()
    const warned = vi.spyOn(process, "emitWarning")
    const answers = await Promise.all(Array.from({ length: 20 }, () => a.isAlive(b.own)))
    expect(answers).toEqual(answers.map(() => true))
    expect(warned).not.toHaveBeenCalled()
  })

  it("lives again under its name when its connection was lost", async () => {
    const { process: a } = await register()
    const { process: b, warnings } = await register()
    await kill(b)
    await expect.poll(() => a.isAlive(b.own), { interval: 20 }).toBe(true)
    expect(warnings).toEqual(["the connection that says this process lives was lost"])
    expect(await b.isAlive(a.own)).toBe(true)
  })

  it("is one of the others until it was found dead twice: it may have lost its connection only", async () => {
    const row = "insert into ledger.processes (process_id, lock_key) values ('prc_lost', -1)"
    await pool.query(row)
    const { process } = await register()
    // Whoever registers has looked once.
    expect(await process.others()).toEqual(["prc_lost"])
    await expect.poll(() => process.others()).toEqual([])
  })

  it("keeps trying while the database is away", async () => {
    const { process: a } = await register()
    const way = await cuttable(database.url)
    const { process: b, warnings } = await register(way.url)
    way.set(false)
    await expect.poll(() => warnings.length, { interval: 20 }).toBeGreaterThanOrEqual(2)
    await expect.poll(() => a.isAlive(b.own), { interval: 20 }).toBe(false)
    way.set(true)
    await expect.poll(() => a.isAlive(b.own), { interval: 20 }).toBe(true)
    expect(await b.isAlive(a.own)).toBe(true)
  })

  it("closes while the database is away", async () => {
    const way = await cuttable(database.url)
    const warnings: string[] = []
    const process = await registerProcess(way.url, (message) => warnings.push(message))
    way.set(false)
    await expect.poll(() => warnings.length, { interval: 20 }).toBeGreaterThanOrEqual(1)
    await process.close()
    expect(warnings.at(-1)).toBe("this process could not sign off")
  })

  it("signs off those that ended, while it lives and when it registers, and lets their work go", async () => {
    const work = async (name: string, processId: string) =>
      pool.query(
        `insert into ledger.work (kind, name, subject, payload, due_at, process_id, leased_until)
         values ('send-text', $1, $1, '{}', now(), $2, now() + interval '1 minute')`,
        [name, processId],
      )
    const held = async () =>
      (await pool.query("select name, process_id from ledger.work order by name")).rows
    const { process: living } = await register()
    const way = await cuttable(database.url)
    const { process: dead } = await register(way.url)
    await work("of the living", living.own)
    await work("of the dead", dead.own)
    way.set(false)
    await expect.poll(() => rowsOf(dead)).toBe(0)
    expect(await living.others()).not.toContain(dead.own)
    const free = [
      { name: "of the dead", process_id: null },
      { name: "of the living", process_id: living.own },
    ]
    expect(await held()).toEqual(free)
    expect(await living.isAlive(dead.own)).toBe(false)
    await pool.query("insert into ledger.processes (process_id, lock_key) values ('prc_x', 0)")
    await pool.query("update ledger.work set process_id = 'prc_x' where name = 'of the dead'")
    await register()
    expect(await held()).toEqual(free)
  })
})
