/** Boxes of an ordinary user, who may not mount, make groups, or be another. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { newBoxId, skipWhere } from "./machine.ts"
import { type Ordinary, noOrdinary as why, ordinaryProgram } from "./ordinary-user.ts"

skipWhere(why)

let ask: Ordinary["ask"]
let folder: string
let runDir: string
let close: () => void

interface Said {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

beforeAll(async () => {
  if (why === null) {
    ;({ ask, close, folder, runDir } = await ordinaryProgram("test/boxhost/ordinary-host.ts"))
  }
})
afterAll(async () => {
  if (why !== null) return
  for (const boxId of await ask<BoxId[]>("list")) await ask("stop", { boxId })
  close()
})

describe("boxes of an ordinary user", () => {
  it("are made, and said to be held less firmly", async () => {
    const found = await ask<{ part: string; isWell: boolean }[]>("probe")
    expect(found.map(({ isWell, part }) => [part, isWell])).toEqual([
      ["driver", true],
      ["limits", false],
      ["disk", false],
      ["network", true],
    ])
  })

  it("run commands within limits, side by side, and leave nothing", async () => {
    const [first, second] = [newBoxId(), newBoxId()]
    for (const boxId of [first, second]) {
      expect(["slirp", "pasta"]).toContain(await ask("start", { boxId }))
    }
    const run = (boxId: BoxId, line: string, timeoutMs = 20_000) =>
      ask<Said>("run", { boxId, line, timeoutMs })
    expect(await run(first, "whoami; pwd; echo bad > /dev/stderr; exit 3")).toEqual({
      exitCode: 3,
      stdout: "worker\n/workspace/repo\n",
      stderr: "bad\n",
    })
    // A bomb has its box's processes and no other's, though both boxes are one user's.
    const bomb = run(first, "b() { b | b & }; b; sleep 60", 2_000)
    expect(
      (await run(second, "for i in $(seq 100); do sleep 1 & done; wait; echo all")).stdout,
    ).toBe("all\n")
    expect((await bomb).exitCode).toBe(124)
    expect((await run(first, "echo again")).stdout).toBe("again\n")
    const hog = await run(second, "exec python3 -c 'x = [bytearray(1 << 24) for _ in range(200)]'")
    expect([1, 137]).toContain(hog.exitCode)
    expect((await run(second, `cat ${runDir}/records/*; ls ${folder}`)).exitCode).not.toBe(0)
    // Folders that forbid their owner to look are taken away as well.
    await run(second, "mkdir -p no/look; chmod 0 no")
    for (const boxId of [first, second]) expect(await ask("stop", { boxId })).toBe(true)
    expect(await ask("sweep")).toEqual([])
    for (const name of ["boxes", "records", "slots"])
      expect(readdirSync(join(runDir, name))).toEqual([])
    expect(existsSync(join(runDir, "programs"))).toBe(true)
  })

  it("end what writes more than may lie in one", async () => {
    const boxId = newBoxId()
    await ask("start", { boxId })
    const line = "fallocate -l 1500M one && fallocate -l 1500M two && sleep 600"
    expect((await ask<Said>("run", { boxId, line, timeoutMs: 60_000 })).exitCode).toBe(137)
    await ask("stop", { boxId })
    expect(readdirSync(join(runDir, "boxes"))).toEqual([])
  })
})
