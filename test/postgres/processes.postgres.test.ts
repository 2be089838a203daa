import { describe, expect, it, onTestFinished, vi } from "vitest"
import type { RegisteredProcess } from "../../adapters/postgres/leases/postgres.ts"
import { registerProcess } from "../../adapters/postgres/leases/postgres.ts"
import { cuttableConnection } from "../support/cuttable-connection.ts"
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
    [process.ownId],
  )
  if (rowCount !== 1) throw new Error("the process holds one lock")
}

async function rowsOf(process: RegisteredProcess): Promise<number> {
  const { rowCount } = await pool.query("select from ledger.processes where process_id = $1", [
    process.ownId,
  ])
  return rowCount ?? 0
}

describe("a registered process", () => {
  it("lives, for itself and for others, until it is closed", async () => {
    const [{ process: a }, { process: b }] = await Promise.all([register(), register()])
    expect(a.ownId).not.toBe(b.ownId)
    expect(await Promise.all([a.isAlive(a.ownId), a.isAlive(b.ownId), b.isAlive(a.ownId)])).toEqual(
      [true, true, true],
    )
    const c = await registerProcess(database.url, () => undefined)
    await c.close()
    expect(await a.isAlive(c.ownId)).toBe(false)
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
    const answers = await Promise.all(Array.from({ length: 20 }, () => a.isAlive(b.ownId)))
    expect(answers).toEqual(answers.map(() => true))
    expect(warned).not.toHaveBeenCalled()
  })

  it("lives again under its name when its connection was lost", async () => {
    const { process: a } = await register()
    const { process: b, warnings } = await register()
    await kill(b)
    await expect.poll(() => a.isAlive(b.ownId), { interval: 20 }).toBe(true)
    expect(warnings).toEqual(["the connection that registers this process was lost"])
    expect(await b.isAlive(a.ownId)).toBe(true)
  })

  it("is one of the others until it was found dead twice: it may have lost its connection only", async () => {
    const row = "insert into ledger.processes (process_id, lock_key) values ('prc_lost', -1)"
    await pool.query(row)
    const { process } = await register()
    // Whoever registers has looked once.
    expect(await process.listOtherProcesses()).toEqual(["prc_lost"])
    await expect.poll(() => process.listOtherProcesses()).toEqual([])
  })

  it("keeps trying while the database is away", async () => {
    const { process: a } = await register()
    const way = await cuttableConnection(database.url)
    const { process: b, warnings } = await register(way.url)
    way.setOpen(false)
    await expect.poll(() => warnings.length, { interval: 20 }).toBeGreaterThanOrEqual(2)
    await expect.poll(() => a.isAlive(b.ownId), { interval: 20 }).toBe(false)
    way.setOpen(true)
    await expect.poll(() => a.isAlive(b.ownId), { interval: 20 }).toBe(true)
    expect(await b.isAlive(a.ownId)).toBe(true)
  })

  it("closes while the database is away", async () => {
    const way = await cuttableConnection(database.url)
    const warnings: string[] = []
    const process = await registerProcess(way.url, (message) => warnings.push(message))
    way.setOpen(false)
    await expect.poll(() => warnings.length, { interval: 20 }).toBeGreaterThanOrEqual(1)
    await process.close()
    expect(warnings.at(-1)).toBe("this process could not deregister")
  })

  it("signs off those that ended, while it lives and when it registers, and lets their work go", async () => {
    const work = async (name: string, processId: string) =>
      pool.query(
        `insert into ledger.jobs (kind, name, subject, payload, due_at, process_id, leased_until)
         values ('send-text', $1, $1, '{}', now(), $2, now() + interval '1 minute')`,
        [name, processId],
      )
    const held = async () =>
      (await pool.query("select name, process_id from ledger.jobs order by name")).rows
    const { process: living } = await register()
    const way = await cuttableConnection(database.url)
    const { process: dead } = await register(way.url)
    await work("of the living", living.ownId)
    await work("of the dead", dead.ownId)
    way.setOpen(false)
    await expect.poll(() => rowsOf(dead)).toBe(0)
    expect(await living.listOtherProcesses()).not.toContain(dead.ownId)
    const free = [
      { name: "of the dead", process_id: null },
      { name: "of the living", process_id: living.ownId },
    ]
    expect(await held()).toEqual(free)
    expect(await living.isAlive(dead.ownId)).toBe(false)
    await pool.query("insert into ledger.processes (process_id, lock_key) values ('prc_x', 0)")
    await pool.query("update ledger.jobs set process_id = 'prc_x' where name = 'of the dead'")
    await register()
    expect(await held()).toEqual(free)
  })
})

const SOON = { interval: 10 }

/** A process that is signed off after the running test, unless it was before. */
async function asking(url = database.url): Promise<RegisteredProcess> {
  const process = await registerProcess(url, () => undefined)
  let closing: Promise<void> | null = null
  const close = () => (closing ??= process.close())
  onTestFinished(close)
  return { ...process, close }
}

/** Asks for leases; `held` are those that the process has at the moment. */
async function ask(process: RegisteredProcess, ...names: readonly string[]) {
  const held = new Set<string>()
  const changes: string[] = []
  const asked = await process.request(names, (name, isHeld) => {
    changes.push(`${isHeld ? "+" : "-"}${name}`)
    if (isHeld) held.add(name)
    else held.delete(name)
  })
  return { asked, changes, held: () => [...held].toSorted() }
}

describe("a lease", () => {
  it("is one process's, at once when it is free", async () => {
    const [a, b] = [await asking(), await asking()]
    const first = await ask(a, "one", "two")
    const second = await ask(b, "two", "three")
    expect(first.held()).toEqual(["one", "two"])
    expect(second.held()).toEqual(["three"])
  })

  it("goes to another one that asks when it is given up, and not back", async () => {
    const [a, b] = [await asking(), await asking()]
    const first = await ask(a, "given up")
    const second = await ask(b, "given up")
    await first.asked.release()
    await expect.poll(second.held, SOON).toEqual(["given up"])
    expect(first.changes).toEqual(["+given up"])
    await second.asked.release()
    const third = await ask(a, "given up")
    expect(third.held()).toEqual(["given up"])
  })

  it("goes to another one when its process ends", async () => {
    const [a, b] = [await asking(), await asking()]
    await ask(a, "left")
    const second = await ask(b, "left")
    await a.close()
    await expect.poll(second.held, SOON).toEqual(["left"])
  })

  it("is lost with the connection, and never two processes' who know it", async () => {
    const way = await cuttableConnection(database.url)
    const [a, b] = [await asking(way.url), await asking()]
    const first = await ask(a, "lost")
    const second = await ask(b, "lost")
    way.setOpen(false)
    await expect.poll(second.held, SOON).toEqual(["lost"])
    await expect.poll(first.changes.at.bind(first.changes, -1), SOON).toBe("-lost")
    way.setOpen(true)
    await expect.poll(() => b.isAlive(a.ownId), SOON).toBe(true)
    expect(first.held()).toEqual([])
    await second.asked.release()
    await expect.poll(first.held, SOON).toEqual(["lost"])
  })

  it("is one process's, however many ask for many", async () => {
    const processes = await Promise.all(Array.from({ length: 4 }, () => asking()))
    const names = Array.from({ length: 30 }, (_, i) => `many ${i}`)
    const all = await Promise.all(processes.map((process) => ask(process, ...names)))
    expect(all.flatMap(({ held }) => held()).toSorted()).toEqual(names.toSorted())
    await all[0]?.asked.release()
    const rest = all.slice(1)
    await expect
      .poll(() => rest.flatMap(({ held }) => held()).toSorted(), SOON)
      .toEqual(names.toSorted())
  })
})

describe("what a process calls out", () => {
  it("is heard by all who listen for it", async () => {
    const heard: string[] = []
    for (const name of ["a", "b"]) {
      const process = await asking()
      await process.listen("test_call", (text) => heard.push(`${name} ${text}`))
    }
    await pool.query("select pg_notify('test_call', 'hello'), pg_notify('another', 'no')")
    await expect.poll(() => heard.toSorted(), SOON).toEqual(["a hello", "b hello"])
  })

  it("may have been missed where the connection was lost: that is told", async () => {
    const way = await cuttableConnection(database.url)
    const process = await asking(way.url)
    const heard: (string | null)[] = []
    await process.listen("test_call", (text) => heard.push(text))
    way.setOpen(false)
    await pool.query("select pg_notify('test_call', 'unheard')")
    way.setOpen(true)
    await expect.poll(() => heard, SOON).toEqual([null])
    await pool.query("select pg_notify('test_call', 'heard')")
    await expect.poll(() => heard, SOON).toEqual([null, "heard"])
  })
})
