import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { AdminContext } from "../../src/frame/operator/operation.ts"
import { OperatorRefused } from "../../src/frame/operator/operation.ts"
import { fakeHost, fakeOperation, run, testFolder, wordsOf } from "./fake-host.ts"
import { serve, waiting } from "./serve-admin.ts"

describe("the command line beside a server", () => {
  it("sends the command there and opens nothing", async () => {
    const causes: AdminContext["cause"][] = []
    const locking = fakeOperation("company lock", async ({ cause, progress }, input) => {
      causes.push(cause)
      progress("locking")
      return { input }
    })
    const { socketPath } = await serve([locking])
    const host = fakeHost([], { livingServer: async () => ({ socketPath }) })
    const ran = await run(wordsOf("company lock acme --as ada --reason asked --json"), host)
    expect(ran).toEqual({
      code: 0,
      stdout: '{"input":{"company":"acme"}}\n',
      // What it tells of the way is for terminals alone.
      stderr: "",
    })
    expect(host.deeds).toEqual([])
    expect(causes).toMatchObject([{ actor: "ada", reason: "asked" }])
  })

  it("exits 1 where it is refused there, and 130 where it is interrupted", async () => {
    const { operation, began, ended } = waiting()
    const refusing = fakeOperation("company list", async () => {
      throw new OperatorRefused("conflict", "Not now.")
    })
    const { socketPath } = await serve([operation, refusing])
    const host = fakeHost([], { livingServer: async () => ({ socketPath }) })
    const refused = await run(["company", "list", "--json"], host)
    expect(refused).toEqual({
      code: 1,
      stdout: '{"error":"conflict","message":"Not now."}\n',
      stderr: "",
    })
    const abort = new AbortController()
    const interrupted = run(["wait"], host, abort.signal)
    await began
    abort.abort()
    expect(await interrupted).toMatchObject({
      code: 130,
      stderr: "Interrupted before it was done.\n",
    })
    expect(await ended).toBe("aborted")
  })

  it("exits 1 with a sentence where the server has just ended", async () => {
    const socketPath = join(await testFolder(), "admin.sock")
    const host = fakeHost([], { livingServer: async () => ({ socketPath }) })
    const ran = await run(["wait", "--json"], host)
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "unavailable" })
  })
})
