/** Boxes and previews of an ordinary user, who may not mount, make control groups or change users. */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  existsSync,
  readdirSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { noSandboxReason, isRoot, newBoxId, skipTestsBecause } from "./sandbox-hosts.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"

/** A user id that no other program uses. */
const UID = 1_999_990

/** Why these tests cannot run here; null if they can. */
const why: string | null =
  noSandboxReason ?? (isRoot ? null : "the other tests run as an ordinary user already")

const PROJECT = join(import.meta.dirname, "../..")

interface Answer {
  readonly number: number
  readonly answered?: unknown
  readonly failed?: string
}

type UserProgram = Awaited<ReturnType<typeof startUserProgram>>

/**
 * Mounts the project, which only root may be able to read, and a network device, which only root may use on some
 * machines; then becomes an ordinary user permanently.
 */
const BECOME =
  'mount --bind "$1" "$2" && if [ -e "$3" ]; then mount --bind "$3" /dev/net/tun; fi && cd "$2" && ' +
  'exec setpriv --reuid "$4" --regid "$4" --clear-groups --inh-caps=-all "$5" "$7" "$6"'

/** Runs a program of the project as an ordinary user with a run folder. */
async function startUserProgram(script: string) {
  const folder = mkdtempSync(join(tmpdir(), "user-"))
  chmodSync(folder, 0o755)
  const [project, tun, runDir] = [join(folder, "project"), join(folder, "tun"), join(folder, "run")]
  for (const path of [project, runDir]) mkdirSync(path)
  chownSync(runDir, UID, UID)
  const made = spawn("mknod", ["-m", "666", tun, "c", "10", "200"], { stdio: "ignore" })
  await new Promise((resolve) => made.once("exit", resolve))
  const node = join("node_modules", process.execPath.split("/node_modules/").at(-1) ?? "")
  const words = [PROJECT, project, tun, String(UID), node, runDir, script]
  const program: ChildProcess = spawn("unshare", ["-m", "sh", "-c", BECOME, "sh", ...words], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { PATH: process.env["PATH"] },
  })
  const answers = new Map<number, (message: Answer) => void>()
  const uid = await new Promise((resolve, reject) => {
    answers.set(0, ({ answered }) => resolve(answered))
    program.once("exit", () => reject(new Error("the ordinary user's program ended")))
    program.on("message", (message: Answer) => answers.get(message.number)?.(message))
  })
  if (uid !== UID) throw new Error(`the ordinary user is ${String(uid)}`)
  let lastNumber = 0
  return {
    folder,
    runDir,
    ask: <T>(what: string, more: object = {}) => {
      const { promise, reject, resolve } = Promise.withResolvers<T>()
      lastNumber += 1
      answers.set(lastNumber, ({ answered, failed }) => {
        if (failed === undefined) resolve(answered as T)
        else reject(new Error(failed))
      })
      program.send({ timeoutMs: 20_000, ...more, number: lastNumber, what })
      return promise
    },
    close: () => {
      program.disconnect()
      rmSync(folder, { recursive: true })
    },
  }
}

skipTestsBecause(why)

interface RunResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

let boxes: UserProgram
let previews: UserProgram
beforeAll(async () => {
  if (why !== null) return
  boxes = await startUserProgram("test/boxhost/unprivileged-host.ts")
  previews = await startUserProgram("test/preview-host/unprivileged-host.ts")
})
afterAll(async () => {
  if (why !== null) return
  for (const boxId of await boxes.ask<BoxId[]>("list")) await boxes.ask("stop", { boxId })
  for (const one of [boxes, previews]) one.close()
})

describe("boxes of an ordinary user", () => {
  it("are made, and the probe reports weaker limits", async () => {
    const found = await boxes.ask<{ component: string; isHealthy: boolean }[]>("probe")
    expect(found.map(({ isHealthy, component }) => [component, isHealthy])).toEqual([
      ["driver", true],
      ["limits", false],
      ["disk", false],
      ["network", true],
    ])
  })

  it("run commands within limits concurrently, and leave nothing", async () => {
    const [first, second] = [newBoxId(), newBoxId()]
    for (const boxId of [first, second]) {
      expect(["slirp", "pasta"]).toContain(await boxes.ask("start", { boxId }))
    }
    const run = (boxId: BoxId, line: string, timeoutMs = 20_000) =>
      boxes.ask<RunResult>("run", { boxId, line, timeoutMs })
    expect(await run(first, "whoami; pwd; echo bad > /dev/stderr; exit 3")).toEqual({
      exitCode: 3,
      stdout: "worker\n/workspace/repo\n",
      stderr: "bad\n",
    })
    // A fork bomb takes only its box's processes, although both boxes have one user.
    const bomb = run(first, "b() { b | b & }; b; sleep 60", 2_000)
    expect(
      (await run(second, "for i in $(seq 100); do sleep 1 & done; wait; echo all")).stdout,
    ).toBe("all\n")
    expect((await bomb).exitCode).toBe(124)
    expect((await run(first, "echo again")).stdout).toBe("again\n")
    const hog = await run(second, "exec python3 -c 'x = [bytearray(1 << 24) for _ in range(200)]'")
    expect([1, 137]).toContain(hog.exitCode)
    expect(
      (await run(second, `cat ${boxes.runDir}/records/*; ls ${boxes.folder}`)).exitCode,
    ).not.toBe(0)
    // Folders without permissions are deleted as well.
    await run(second, "mkdir -p no/look; chmod 0 no")
    for (const boxId of [first, second]) expect(await boxes.ask("stop", { boxId })).toBe(true)
    expect(await boxes.ask("sweep")).toEqual([])
    for (const name of ["boxes", "records", "slots"])
      expect(readdirSync(join(boxes.runDir, name))).toEqual([])
    expect(existsSync(join(boxes.runDir, "programs"))).toBe(true)
  })

  it("end a command that writes more than the limit", async () => {
    const boxId = newBoxId()
    await boxes.ask("start", { boxId })
    const line = "fallocate -l 1500M one && fallocate -l 1500M two && sleep 600"
    expect((await boxes.ask<RunResult>("run", { boxId, line, timeoutMs: 60_000 })).exitCode).toBe(
      137,
    )
    await boxes.ask("stop", { boxId })
    expect(readdirSync(join(boxes.runDir, "boxes"))).toEqual([])
  })
})

describe("previews of an ordinary user", () => {
  it("are built within limits", async () => {
    expect(await previews.ask("build", { script: "id -un; echo two > dist/b" })).toEqual({
      ok: true,
      log: "worker\n",
      stored: { a: "one", b: "two\n" },
    })
    const bomb = await previews.ask("build", { script: "b() { b | b & }; b; exit 3" })
    expect(bomb).toMatchObject({ ok: false })
    const full = "fallocate -l 3G one && fallocate -l 3G two && sleep 600"
    expect(await previews.ask("build", { script: full })).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/^The build command exited with code 137/),
    })
    expect(await previews.ask("sandboxes")).toEqual([])
  })

  it("run, sleep, wake up with their data, and leave nothing", async () => {
    await previews.ask("start")
    expect(await previews.ask("add")).toBe("x")
    await previews.ask("sleep")
    expect(await previews.ask("sandboxes")).toEqual([])
    await previews.ask("wake")
    expect(await previews.ask("add")).toBe("xx")
    await previews.ask("erase")
    const left = ["previews", "records", "slots", "boxes"].map((name) =>
      readdirSync(join(previews.runDir, name)),
    )
    expect(left).toEqual([[], [], [], []])
  })
})
