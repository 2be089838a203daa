import { describe, expect, it, onTestFinished } from "vitest"
import type { RegisteredProcess } from "../../adapters/processes/postgres.ts"
import { registerProcess } from "../../adapters/processes/postgres.ts"
import { cuttable } from "../support/cuttable.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const database = await databaseUnderTest()
const SOON = { interval: 10 }

/** A process that is signed off after the running test, unless it was before. */
async function register(url = database.url): Promise<RegisteredProcess> {
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
  const asked = await process.ask(names, (name, isHeld) => {
    changes.push(`${isHeld ? "+" : "-"}${name}`)
    if (isHeld) held.add(name)
    else held.delete(name)
  })
  return { asked, changes, held: () => [...held].toSorted() }
}

describe("a lease", () => {
  it("is one process's, at once when it is free", async () => {
    const [a, b] = [await register(), await register()]
    const first = await ask(a, "one", "two")
    const second = await ask(b, "two", "three")
    expect(first.held()).toEqual(["one", "two"])
    expect(second.held()).toEqual(["three"])
  })

  it("goes to another one that asks when it is given up, and not back", async () => {
    const [a, b] = [await register(), await register()]
    const first = await ask(a, "given up")
    const second = await ask(b, "given up")
    await first.asked.giveUp()
    await expect.poll(second.held, SOON).toEqual(["given up"])
    expect(first.changes).toEqual(["+given up"])
    await second.asked.giveUp()
    const third = await ask(a, "given up")
    expect(third.held()).toEqual(["given up"])
  })

  it("goes to another one when its process ends", async () => {
    const [a, b] = [await register(), await register()]
    await ask(a, "left")
    const second = await ask(b, "left")
    await a.close()
    await expect.poll(second.held, SOON).toEqual(["left"])
  })

  it("is lost with the connection, and never two processes' who know it", async () => {
    const way = await cuttable(database.url)
    const [a, b] = [await register(way.url), await register()]
    const first = await ask(a, "lost")
    const second = await ask(b, "lost")
    way.set(false)
    await expect.poll(second.held, SOON).toEqual(["lost"])
    await expect.poll(first.changes.at.bind(first.changes, -1), SOON).toBe("-lost")
    way.set(true)
    await expect.poll(() => b.isAlive(a.own), SOON).toBe(true)
    expect(first.held()).toEqual([])
    await second.asked.giveUp()
    await expect.poll(first.held, SOON).toEqual(["lost"])
  })

  it("is one process's, however many ask for many", async () => {
    const processes = await Promise.all(Array.from({ length: 4 }, () => register()))
    const names = Array.from({ length: 30 }, (_, i) => `many ${i}`)
    const all = await Promise.all(processes.map((process) => ask(process, ...names)))
    expect(all.flatMap(({ held }) => held()).toSorted()).toEqual(names.toSorted())
    await all[0]?.asked.giveUp()
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
      const process = await register()
      await process.listen("test_call", (text) => heard.push(`${name} ${text}`))
    }
    const pool = database.pool()
    await pool.query("select pg_notify('test_call', 'hello'), pg_notify('another', 'no')")
    await expect.poll(() => heard.toSorted(), SOON).toEqual(["a hello", "b hello"])
  })

  it("may have been missed where the connection was lost: that is told", async () => {
    const way = await cuttable(database.url)
    const process = await register(way.url)
    const heard: (string | null)[] = []
    await process.listen("test_call", (text) => heard.push(text))
    way.set(false)
    const pool = database.pool()
    await pool.query("select pg_notify('test_call', 'unheard')")
    way.set(true)
    await expect.poll(() => heard, SOON).toEqual([null])
    await pool.query("select pg_notify('test_call', 'heard')")
    await expect.poll(() => heard, SOON).toEqual([null, "heard"])
  })
})
