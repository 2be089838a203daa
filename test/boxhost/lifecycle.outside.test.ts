/** What ends boxes, what does not, and that nothing is left of those that ended. */
import { execFile } from "node:child_process"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { type BoxHandle, BoxGone, type SandboxId } from "../../adapters/sandbox/boxhost/port.ts"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { rejectionOf, newBoxId, newBoxPlan, ownSandboxHosts, runShell } from "./sandbox-hosts.ts"

/** Of the calls by which a box is launched, the ones that a launcher is killed at. */
const KILLED_AT = [1, 20, 32, 44, 56, 66, 76, 86, 96, 106]

const hosts = await ownSandboxHosts()

/** The processes of a box, as its record names them: sandbox, keeper, way out, first process. */
function processesOf(boxId: SandboxId) {
  const path = join(hosts.runDir, "records", `${boxId}.json`)
  const record = JSON.parse(readFileSync(path, "utf8")) as {
    processes: { pid: number }[]
    keeper: { pid: number }
  }
  return { keeper: record.keeper.pid, all: record.processes.map(({ pid }) => pid) }
}

/** Whether a process is there, and not only as one that nobody asked how it ended. */
function isThere(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false
  return !/^.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
}

/** Every trace of boxes in the run folder, and of the folder in the machine. */
function traces(): readonly string[] {
  const folders = ["records", "slots", "boxes", "images", "logs"]
  const files = folders.flatMap((name) => readdirSync(join(hosts.runDir, name)))
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n")
  const running = readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(hosts.runDir)
    } catch {
      // It has ended at this moment.
      return false
    }
  })
  return [...files, ...mounts.filter((line) => line.includes(hosts.runDir)), ...running]
}

/** Runs a program that is killed while it launches a box, or after it; what it said. */
async function launched(boxId: BoxId, calls: number): Promise<string> {
  const args = [
    join(import.meta.dirname, "crashing-launcher.ts"),
    hosts.runDir,
    boxId,
    String(calls),
  ]
  const ended = (await rejectionOf(promisify(execFile)(process.execPath, args))) as {
    signal: string
    stdout: string
    stderr: string
  }
  expect([ended.signal, ended.stderr]).toEqual(["SIGKILL", ""])
  return ended.stdout
}

describe("a box", () => {
  it("outlives the program that launched it", async () => {
    const boxId = newBoxId()
    const calls = Number(await launched(boxId, 0))
    // Those that launchers are killed at are among those that there are.
    expect(calls).toBeGreaterThan(Math.max(...KILLED_AT))
    const box = await hosts.host.find(boxId)
    expect((await box?.listProcesses())?.map(({ status }) => status)).toEqual(["running"])
    await box?.stop()
    expect(traces()).toEqual([])
  })

  it("ends with its keeper, and its way out with it", async () => {
    const box = await hosts.host.start(newBoxPlan())
    const ran = rejectionOf(runShell(box, "sleep 600"))
    await expect.poll(async () => (await box.readHealth()).isBusy).toBe(true)
    const { all, keeper } = processesOf(box.boxId)
    process.kill(keeper, "SIGKILL")
    expect(await ran).toBeInstanceOf(BoxGone)
    await expect.poll(() => all.filter(isThere)).toEqual([])
    expect(await hosts.another.find(box.boxId)).toBeNull()
    expect(await hosts.another.sweep()).toEqual([{ name: box.boxId, reason: "it ended" }])
    expect(traces()).toEqual([])
  })

  it("goes on without its outer sandbox's first process", async () => {
    const box = await hosts.host.start(newBoxPlan())
    const [outer = 0] = processesOf(box.boxId).all
    process.kill(outer, "SIGKILL")
    await expect.poll(() => isThere(outer)).toBe(false)
    expect((await runShell(box, "echo well")).stdout).toBe("well\n")
    await box.stop()
    expect(traces()).toEqual([])
  })

  it("is swept when its lease is over, or its keeper says nothing", async () => {
    const [over, silent] = [
      await hosts.host.start(newBoxPlan()),
      await hosts.host.start(newBoxPlan()),
    ]
    await over.extend(1)
    await expect.poll(() => hosts.host.find(over.boxId)).toBeNull()
    process.kill(processesOf(silent.boxId).keeper, "SIGSTOP")
    // One that waits as long for an answer as others do for a moment.
    const pause = (ms: number, signal?: AbortSignal) => machinePacer.pause(ms / 10, signal)
    const hasty = await hosts.open({ pacer: { ...machinePacer, pause } })
    const swept = await hasty.sweep()
    expect(new Set(swept)).toEqual(
      new Set([
        { name: over.boxId, reason: "it ended" },
        { name: silent.boxId, reason: "it is silent" },
      ]),
    )
    expect(traces()).toEqual([])
  })

  it("leaves nothing where its launcher was killed, wherever it was", async () => {
    const killed = KILLED_AT.map((calls) => ({ calls, boxId: newBoxId() }))
    await Promise.all(killed.map(({ boxId, calls }) => launched(boxId, calls)))
    await hosts.host.sweep()
    // One that had come far enough is found, as after any other end of a program.
    for (const { boxId } of killed) await (await hosts.host.find(boxId))?.stop()
    await expect.poll(traces).toEqual([])
  })

  it("is made once, however many ask for it", async () => {
    const plan = newBoxPlan()
    const asked = [hosts.host, hosts.another, hosts.host, hosts.another]
    const boxes = await Promise.all(asked.map((host) => host.start(plan)))
    expect(await hosts.host.listBoxes()).toEqual([plan.boxId])
    const { id } = await (boxes[0] as BoxHandle).spawn("sleep 600")
    for (const box of boxes) expect((await box.listProcesses()).map((one) => one.id)).toEqual([id])
    await Promise.all(boxes.map((box) => box.stop()))
    expect(traces()).toEqual([])
  })

  it("is refused where as many run as may, and there is room for none", async () => {
    const small = await hosts.open({ maxBoxes: 1 })
    const tried = await Promise.all([1, 2, 3, 4].map(() => rejectionOf(small.start(newBoxPlan()))))
    expect(tried.filter((error) => error === null).length).toBe(1)
    expect(tried.filter((error) => error instanceof ProviderUnavailable).length).toBe(3)
    expect(await small.hasRoom("small")).toBe(false)
    for (const boxId of await small.listBoxes()) await (await small.find(boxId))?.stop()
    expect(traces()).toEqual([])
  })
})

describe("a machine", () => {
  it("says what boxes come to on it", async () => {
    expect((await hosts.host.probe()).map(({ component }) => component)).toEqual([
      "driver",
      "limits",
      "disk",
      "network",
    ])
    const poor = await hosts.open({
      disabledCapabilities: ["groups", "images", "slirp4netns", "pasta", "seccomp"],
    })
    const found = await poor.probe()
    expect(found.map(({ fix, isHealthy }) => [isHealthy, fix === null])).toEqual(
      found.map(() => [false, false]),
    )
    expect(found.length).toBe(4)
  })

  it("without bubblewrap has no room, and says why", async () => {
    const none = await hosts.open({ disabledCapabilities: ["bwrap"] })
    expect(await none.hasRoom("small")).toBe(false)
    expect(await rejectionOf(none.start(newBoxPlan()))).toBeInstanceOf(ProviderUnavailable)
    const [driver, ...more] = await none.probe()
    expect([driver?.isHealthy, driver?.message, more]).toEqual([
      false,
      expect.stringMatching(/^Boxes cannot be created here: .*bwrap/),
      [],
    ])
    expect(traces()).toEqual([])
  })
})
