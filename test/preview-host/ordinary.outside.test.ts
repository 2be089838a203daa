/** Previews of an ordinary user: their data lie in folders, and all else is as for root. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { skipWhere } from "../boxhost/machine.ts"
import { type Ordinary, noOrdinary as why, ordinaryProgram } from "../boxhost/ordinary-user.ts"

skipWhere(why)

let ordinary: Ordinary
beforeAll(async () => {
  if (why === null) ordinary = await ordinaryProgram("test/preview-host/ordinary-host.ts")
})
afterAll(() => {
  if (why === null) ordinary.close()
})

describe("previews of an ordinary user", () => {
  it("are built within limits", async () => {
    expect(await ordinary.ask("build", { script: "id -un; echo two > dist/b" })).toEqual({
      ok: true,
      log: "worker\n",
      kept: { a: "one", b: "two\n" },
    })
    const bomb = await ordinary.ask("build", { script: "b() { b | b & }; b; exit 3" })
    expect(bomb).toMatchObject({ ok: false })
    const full = "fallocate -l 3G one && fallocate -l 3G two && sleep 600"
    expect(await ordinary.ask("build", { script: full })).toMatchObject({
      ok: false,
      why: expect.stringMatching(/^The build ended with 137/),
    })
    expect(await ordinary.ask("sandboxes")).toEqual([])
  })

  it("run, sleep, wake up with what they had, and leave nothing", async () => {
    await ordinary.ask("start")
    expect(await ordinary.ask("add")).toBe("x")
    await ordinary.ask("sleep")
    expect(await ordinary.ask("sandboxes")).toEqual([])
    await ordinary.ask("wake")
    expect(await ordinary.ask("add")).toBe("xx")
    await ordinary.ask("erase")
    const { runDir } = ordinary
    const left = ["previews", "records", "slots", "boxes"].map((name) =>
      readdirSync(join(runDir, name)),
    )
    expect(left).toEqual([[], [], [], []])
  })
})
