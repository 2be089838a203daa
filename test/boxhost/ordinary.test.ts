/** Boxes of an ordinary user, who may not mount, make groups, or be another. */
import { type ChildProcess, spawn } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { absent, isRoot, newBoxId } from "./machine.ts"

/** A user that is nobody else's. */
const UID = 1_999_990

const why = absent ?? (isRoot ? null : "the other tests run as an ordinary user already")
const needed = why ?? "root can be an ordinary user here"

const PROJECT = join(import.meta.dirname, "../..")
let folder = ""
let runDir = ""
let program: ChildProcess
let asked = 0
const answers = new Map<number, (message: Answer) => void>()

interface Answer {
  readonly number: number
  readonly answered?: unknown
  readonly failed?: string
}

/** Asks the ordinary user's program. */
function ask<T>(what: string, more: { boxId?: BoxId; line?: string; timeoutMs?: number } = {}) {
  const { promise, reject, resolve } = Promise.withResolvers<T>()
  asked += 1
  answers.set(asked, ({ answered, failed }) => {
    if (failed === undefined) resolve(answered as T)
    else reject(new Error(failed))
  })
  program.send({ timeoutMs: 20_000, ...more, number: asked, what })
  return promise
}

interface Said {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Sees the project, which may lie where only root looks, and a device to make networks with, which
 * others may not use on some machines; then it is an ordinary user for good.
 */
const BECOME =
  'mount --bind "$1" "$2" && if [ -e "$3" ]; then mount --bind "$3" /dev/net/tun; fi && cd "$2" && ' +
  'exec setpriv --reuid "$4" --regid "$4" --clear-groups --inh-caps=-all "$5" test/boxhost/ordinary-host.ts "$6"'

beforeAll(async () => {
  if (why !== null) return
  folder = mkdtempSync(join(tmpdir(), "ordinary-"))
  chmodSync(folder, 0o755)
  const [project, tun] = [join(folder, "project"), join(folder, "tun")]
  runDir = join(folder, "run")
  for (const path of [project, runDir]) mkdirSync(path)
  chownSync(runDir, UID, UID)
  const made = spawn("mknod", ["-m", "666", tun, "c", "10", "200"], { stdio: "ignore" })
  await new Promise((resolve) => made.once("exit", resolve))
  const node = join("node_modules", process.execPath.split("/node_modules/").at(-1) ?? "")
  const words = [PROJECT, project, tun, String(UID), node, runDir]
  program = spawn("unshare", ["-m", "sh", "-c", BECOME, "sh", ...words], {
    ...{ stdio: ["ignore", "inherit", "inherit", "ipc"], env: { PATH: process.env["PATH"] } },
  })
  const uid = await new Promise((resolve, reject) => {
    answers.set(0, ({ answered }) => resolve(answered))
    program.once("exit", () => reject(new Error("the ordinary user's program ended")))
    program.on("message", (message: Answer) => answers.get(message.number)?.(message))
  })
  if (uid !== UID) throw new Error(`the ordinary user is ${String(uid)}`)
})
afterAll(async () => {
  if (why !== null) return
  for (const boxId of await ask<BoxId[]>("list")) await ask("stop", { boxId })
  program.disconnect()
  rmSync(folder, { recursive: true })
})

describe("boxes of an ordinary user", () => {
  it("are made, and said to be held less firmly", async (ctx) => {
    ctx.skip(why !== null, needed)
    const found = await ask<{ part: string; isWell: boolean }[]>("probe")
    expect(found.map(({ isWell, part }) => [part, isWell])).toEqual([
      ...[
        ["driver", true],
        ["limits", false],
        ["disk", false],
        ["network", true],
      ],
    ])
  })

  it("run commands within limits, side by side, and leave nothing", async (ctx) => {
    ctx.skip(why !== null, needed)
    const [first, second] = [newBoxId(), newBoxId()]
    for (const boxId of [first, second]) {
      expect(["slirp", "pasta"]).toContain(await ask("start", { boxId }))
    }
    const run = (boxId: BoxId, line: string, timeoutMs = 20_000) =>
      ask<Said>("run", { boxId, line, timeoutMs })
    expect(await run(first, "whoami; pwd; echo bad > /dev/stderr; exit 3")).toEqual({
      ...{ exitCode: 3, stdout: "worker\n/workspace/repo\n", stderr: "bad\n" },
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

  it("end what writes more than may lie in one", async (ctx) => {
    ctx.skip(why !== null, needed)
    const boxId = newBoxId()
    await ask("start", { boxId })
    const line = "fallocate -l 1500M one && fallocate -l 1500M two && sleep 600"
    expect((await ask<Said>("run", { boxId, line, timeoutMs: 60_000 })).exitCode).toBe(137)
    await ask("stop", { boxId })
    expect(readdirSync(join(runDir, "boxes"))).toEqual([])
  })
})
