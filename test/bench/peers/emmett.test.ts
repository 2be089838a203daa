import { describe, expect, it } from "vitest"
import { EMMETT, installed } from "./emmett.ts"

/** How Node says that there is no such package. */
function missing(): Promise<never> {
  const error = new Error("Cannot find package")
  return Promise.reject(Object.assign(error, { code: "ERR_MODULE_NOT_FOUND" }))
}

describe("a peer", () => {
  it("is there where it is installed", async () => {
    const emmett = await installed<{ readonly getPostgreSQLEventStore: unknown }>(EMMETT)
    expect(emmett?.getPostgreSQLEventStore).toBeTypeOf("function")
  })

  it("is left out where it is not installed", async () => {
    expect(await installed(EMMETT, missing)).toBeNull()
  })

  it("that is installed and broken is an error", async () => {
    const broken = () => Promise.reject(new Error("it is broken"))
    await expect(installed(EMMETT, broken)).rejects.toThrow("it is broken")
  })
})
