import type { TestContext } from "vitest"
import { describe, expect, it, onTestFinished } from "vitest"
import { openStoreEnvironment } from "../fixtures/store-environment.ts"
import { EMMETT_PACKAGE, EMMETT_NOT_INSTALLED, importIfInstalled, openEmmett } from "./emmett.ts"

/** Throws Node's error for a missing package. */
function missing(): Promise<never> {
  const error = new Error("Cannot find package")
  return Promise.reject(Object.assign(error, { code: "ERR_MODULE_NOT_FOUND" }))
}

/** Opens emmett, or skips the test: its packages belong to the benchmarks. */
async function emmettOrSkip(context: TestContext) {
  const emmett = await importIfInstalled<{ readonly getPostgreSQLEventStore: unknown }>(
    EMMETT_PACKAGE,
  )
  context.skip(emmett === null, EMMETT_NOT_INSTALLED)
  return emmett
}

describe("a peer", () => {
  it("is there where it is installed", async (context) => {
    const emmett = await emmettOrSkip(context)
    expect(emmett?.getPostgreSQLEventStore).toBeTypeOf("function")
  })

  it("is left out where it is not installed", async () => {
    expect(await importIfInstalled(EMMETT_PACKAGE, missing)).toBeNull()
  })

  it("works by its own types, and leaves ours as they are for what is measured after it", async (context) => {
    await emmettOrSkip(context)
    const ground = await openStoreEnvironment({ store: "postgres" })
    onTestFinished(() => ground.close())
    // Only the first one of a process changes the driver's parsers.
    for (const round of [1, 2]) {
      const peer = await openEmmett(ground, { people: 1, keys: 2 }, 2)
      expect(await peer?.append()).toBe(true)
      expect(await peer?.charge(round % 2)).toBeTypeOf("boolean")
      await peer?.check()
      const { rows } = await ground.pool.query("select 7::bigint as count")
      expect(rows).toEqual([{ count: 7 }])
    }
  })

  it("that is installed and broken is an error", async () => {
    const broken = () => Promise.reject(new Error("it is broken"))
    await expect(importIfInstalled(EMMETT_PACKAGE, broken)).rejects.toThrow("it is broken")
  })
})
