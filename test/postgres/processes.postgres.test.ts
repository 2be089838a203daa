import { describe, expect, it, onTestFinished, vi } from "vitest"
import type { RegisteredProcess } from "../../adapters/postgres/leases/postgres.ts"
import { registerProcess } from "../../adapters/postgres/leases/postgres.ts"
import { cuttableConnection } from "../support/cuttable-connection.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const database = await databaseUnderTest()
const pool = database.pool()

/** Registers a process that is deregistered after the running test. */
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
  it("is alive for itself and for others until it is closed", async () => {
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

  it("is not alive if its name was never registered", async () => {
    const { process } = await register()
    expect(await process.isAlive("prc_unknown")).toBe(false)
  })

  it("answers concurrent questions without a driver warning", async () => {
    const { process: a } = await register()
    const { process: b } = await register()
    const warned = vi.spyOn(process, "emitWarning")
    const answers = await Promise.all(Array.from({ length: 20 }, () => a.isAlive(b.ownId)))
    expect(answers).toEqual(answers.map(() => true))
    expect(warned).not.toHaveBeenCalled()
  })

  it("registers again under its name after its connection was lost", async () => {
    const { process: a } = await register()
    const { process: b, warnings } = await register()
    await kill(b)
    await expect.poll(() => a.isAlive(b.ownId), { interval: 20 }).toBe(true)
    expect(warnings).toEqual(["the connection that registers this process was lost"])
    expect(await b.isAlive(a.ownId)).toBe(true)
  })

  it("is listed until two checks find it dead, because it may only have lost its connection", async () => {
    const row = "insert into ledger.processes (process_id, lock_key) values ('prc_lost', -1)"
    await pool.query(row)
    const { process } = await register()
    // Registering includes the first check.
    expect(await process.listOtherProcesses()).toEqual(["prc_lost"])
    await expect.poll(() => process.listOtherProcesses()).toEqual([])
  })

  it("keeps trying while the database is unreachable", async () => {
    const { process: a } = await register()
    const connection = await cuttableConnection(database.url)
    const { process: b, warnings } = await register(connection.url)
    connection.setOpen(false)
    await expect.poll(() => warnings.length, { interval: 20 }).toBeGreaterThanOrEqual(2)
    await expect.poll(() => a.isAlive(b.ownId), { interval: 20 }).toBe(false)
    connection.setOpen(true)
    await expect.poll(() => a.isAlive(b.ownId), { interval: 20 }).toBe(true)
    expect(await b.isAlive(a.ownId)).toBe(true)
  })

  it("closes while the database is unreachable", async () => {
    const connection = await cuttableConnection(database.url)
    const warnings: string[] = []
    const process = await registerProcess(connection.url, (message) => warnings.push(message))
    connection.setOpen(false)
    await expect.poll(() => warnings.length, { interval: 20 }).toBeGreaterThanOrEqual(1)
    await process.close()
    expect(warnings.at(-1)).toBe("this process could not deregister")
  })

  it("deregisters processes that ended, regularly and when it registers, and releases their jobs", async () => {
    const addClaimedJob = async (name: string, processId: string) =>
      pool.query(
        `insert into ledger.jobs (kind, name, subject, payload, due_at, process_id, leased_until)
         values ('send-text', $1, $1, '{}', now(), $2, now() + interval '1 minute')`,
        [name, processId],
      )
    const held = async () =>
      (await pool.query("select name, process_id from ledger.jobs order by name")).rows
    const { process: living } = await register()
    const connection = await cuttableConnection(database.url)
    const { process: dead } = await register(connection.url)
    await addClaimedJob("of the living", living.ownId)
    await addClaimedJob("of the dead", dead.ownId)
    connection.setOpen(false)
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

/** A process that is deregistered after the running test, unless it already was. */
async function registerClosable(url = database.url): Promise<RegisteredProcess> {
  const process = await registerProcess(url, () => undefined)
  let closing: Promise<void> | null = null
  const close = () => (closing ??= process.close())
  onTestFinished(close)
  return { ...process, close }
}

/** Requests leases; `held` returns those that the process has now. */
async function requestLeases(process: RegisteredProcess, ...names: readonly string[]) {
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
  it("belongs to one process, immediately if it is free", async () => {
    const [a, b] = [await registerClosable(), await registerClosable()]
    const first = await requestLeases(a, "one", "two")
    const second = await requestLeases(b, "two", "three")
    expect(first.held()).toEqual(["one", "two"])
    expect(second.held()).toEqual(["three"])
  })

  it("goes to another process when it is released, and not back", async () => {
    const [a, b] = [await registerClosable(), await registerClosable()]
    const first = await requestLeases(a, "released")
    const second = await requestLeases(b, "released")
    await first.asked.release()
    await expect.poll(second.held, SOON).toEqual(["released"])
    expect(first.changes).toEqual(["+released"])
    await second.asked.release()
    const third = await requestLeases(a, "released")
    expect(third.held()).toEqual(["released"])
  })

  it("goes to another process when its process ends", async () => {
    const [a, b] = [await registerClosable(), await registerClosable()]
    await requestLeases(a, "left")
    const second = await requestLeases(b, "left")
    await a.close()
    await expect.poll(second.held, SOON).toEqual(["left"])
  })

  it("is lost with the connection, and no two processes believe that they have it", async () => {
    const connection = await cuttableConnection(database.url)
    const [a, b] = [await registerClosable(connection.url), await registerClosable()]
    const first = await requestLeases(a, "lost")
    const second = await requestLeases(b, "lost")
    connection.setOpen(false)
    await expect.poll(second.held, SOON).toEqual(["lost"])
    await expect.poll(first.changes.at.bind(first.changes, -1), SOON).toBe("-lost")
    connection.setOpen(true)
    await expect.poll(() => b.isAlive(a.ownId), SOON).toBe(true)
    expect(first.held()).toEqual([])
    await second.asked.release()
    await expect.poll(first.held, SOON).toEqual(["lost"])
  })

  it("belongs to one process under concurrent requests for many leases", async () => {
    const processes = await Promise.all(Array.from({ length: 4 }, () => registerClosable()))
    const names = Array.from({ length: 30 }, (_, i) => `many ${i}`)
    const all = await Promise.all(processes.map((process) => requestLeases(process, ...names)))
    expect(all.flatMap(({ held }) => held()).toSorted()).toEqual(names.toSorted())
    await all[0]?.asked.release()
    const rest = all.slice(1)
    await expect
      .poll(() => rest.flatMap(({ held }) => held()).toSorted(), SOON)
      .toEqual(names.toSorted())
  })
})

describe("a notification", () => {
  it("reaches all listeners", async () => {
    const received: string[] = []
    for (const name of ["a", "b"]) {
      const process = await registerClosable()
      await process.listen("test_call", (text) => received.push(`${name} ${text}`))
    }
    await pool.query("select pg_notify('test_call', 'hello'), pg_notify('another', 'no')")
    await expect.poll(() => received.toSorted(), SOON).toEqual(["a hello", "b hello"])
  })

  it("may be missed while the connection is lost, which listeners are informed of", async () => {
    const connection = await cuttableConnection(database.url)
    const process = await registerClosable(connection.url)
    const received: (string | null)[] = []
    await process.listen("test_call", (text) => received.push(text))
    connection.setOpen(false)
    await pool.query("select pg_notify('test_call', 'missed')")
    connection.setOpen(true)
    await expect.poll(() => received, SOON).toEqual([null])
    await pool.query("select pg_notify('test_call', 'arrived')")
    await expect.poll(() => received, SOON).toEqual([null, "arrived"])
  })
})
