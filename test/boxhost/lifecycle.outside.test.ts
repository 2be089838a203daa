/** How boxes end, how they don't, and that nothing is left of ended ones. */
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

/** The calls of a launch at which a launcher is killed. */
const KILLED_AT = [1, 20, 32, 44, 56, 66, 76, 86, 96, 106]

const hosts = await ownSandboxHosts()

/** The processes in a box's record: sandbox, box agent, network helper, first process. */
function processesOf(boxId: SandboxId) {
  const path = join(hosts.runDir, "records", `${boxId}.json`)
  const record = JSON.parse(readFileSync(path, "utf8")) as {
    processes: { pid: number }[]
    keeper: { pid: number }
  }
  return { agent: record.keeper.pid, all: record.processes.map(({ pid }) => pid) }
}

/** Whether a process runs; zombies do not count. */
function isRunning(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false
  return !/^.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
}

/** Every trace of boxes in the run folder, and of the folder in mounts and processes. */
function traces(): readonly string[] {
  const folders = ["records", "slots", "boxes", "images", "logs"]
  const files = folders.flatMap((name) => readdirSync(join(hosts.runDir, name)))
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n")
  const running = readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(hosts.runDir)
    } catch {
      // The process has just ended.
      return false
    }
  })
  return [...files, ...mounts.filter((line) => line.includes(hosts.runDir)), ...running]
}

/** Runs a program that is killed during or after a launch; returns its output. */
async function launchAndCrash(boxId: BoxId, calls: number): Promise<string> {
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
    const calls = Number(await launchAndCrash(boxId, 0))
    // All calls in `KILLED_AT` happen in a launch.
    expect(calls).toBeGreaterThan(Math.max(...KILLED_AT))
    const box = await hosts.host.find(boxId)
    expect((await box?.listProcesses())?.map(({ status }) => status)).toEqual(["running"])
    await box?.stop()
    expect(traces()).toEqual([])
  })

  it("ends with its box agent, and so does its network helper", async () => {
    const box = await hosts.host.start(newBoxPlan())
    const ran = rejectionOf(runShell(box, "sleep 600"))
    await expect.poll(async () => (await box.readHealth()).isBusy).toBe(true)
    const { all, agent } = processesOf(box.boxId)
    process.kill(agent, "SIGKILL")
    expect(await ran).toBeInstanceOf(BoxGone)
    await expect.poll(() => all.filter(isRunning)).toEqual([])
    expect(await hosts.another.find(box.boxId)).toBeNull()
    expect(await hosts.another.sweep()).toEqual([{ name: box.boxId, reason: "it ended" }])
    expect(traces()).toEqual([])
  })

  it("survives the first process of its outer sandbox", async () => {
    const box = await hosts.host.start(newBoxPlan())
    const [outer = 0] = processesOf(box.boxId).all
    process.kill(outer, "SIGKILL")
    await expect.poll(() => isRunning(outer)).toBe(false)
    expect((await runShell(box, "echo well")).stdout).toBe("well\n")
    await box.stop()
    expect(traces()).toEqual([])
  })

  it("is swept when its lease is over, or its agent does not answer", async () => {
    const [over, silent] = [
      await hosts.host.start(newBoxPlan()),
      await hosts.host.start(newBoxPlan()),
    ]
    await over.extend(1)
    await expect.poll(() => hosts.host.find(over.boxId)).toBeNull()
    process.kill(processesOf(silent.boxId).agent, "SIGSTOP")
    // This host's timeouts are ten times shorter.
    const pause = (ms: number, signal?: AbortSignal) => machinePacer.pause(ms / 10, signal)
    const impatient = await hosts.open({ pacer: { ...machinePacer, pause } })
    const swept = await impatient.sweep()
    expect(new Set(swept)).toEqual(
      new Set([
        { name: over.boxId, reason: "it ended" },
        { name: silent.boxId, reason: "it is silent" },
      ]),
    )
    expect(traces()).toEqual([])
  })

  it("leaves nothing after its launcher was killed at any call", async () => {
    const killed = KILLED_AT.map((calls) => ({ calls, boxId: newBoxId() }))
    await Promise.all(killed.map(({ boxId, calls }) => launchAndCrash(boxId, calls)))
    await hosts.host.sweep()
    // A launch that was complete is found, like after any other end of a program.
    for (const { boxId } of killed) await (await hosts.host.find(boxId))?.stop()
    await expect.poll(traces).toEqual([])
  })

  it("is made once for concurrent starts", async () => {
    const plan = newBoxPlan()
    const callers = [hosts.host, hosts.another, hosts.host, hosts.another]
    const boxes = await Promise.all(callers.map((host) => host.start(plan)))
    expect(await hosts.host.listBoxes()).toEqual([plan.boxId])
    const { id } = await (boxes[0] as BoxHandle).spawn("sleep 600")
    for (const box of boxes) expect((await box.listProcesses()).map((one) => one.id)).toEqual([id])
    await Promise.all(boxes.map((box) => box.stop()))
    expect(traces()).toEqual([])
  })

  it("is rejected beyond the limit of boxes", async () => {
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
  it("is probed for its capabilities, with a fix for each missing one", async () => {
    expect((await hosts.host.probe()).map(({ component }) => component)).toEqual([
      "driver",
      "limits",
      "disk",
      "network",
    ])
    const limited = await hosts.open({
      disabledCapabilities: ["groups", "images", "slirp4netns", "pasta", "seccomp"],
    })
    const found = await limited.probe()
    expect(found.map(({ fix, isHealthy }) => [isHealthy, fix === null])).toEqual(
      found.map(() => [false, false]),
    )
    expect(found.length).toBe(4)
  })

  it("without bubblewrap has no room, and its probe has the reason", async () => {
    const withoutBubblewrap = await hosts.open({ disabledCapabilities: ["bwrap"] })
    expect(await withoutBubblewrap.hasRoom("small")).toBe(false)
    expect(await rejectionOf(withoutBubblewrap.start(newBoxPlan()))).toBeInstanceOf(
      ProviderUnavailable,
    )
    const [driver, ...more] = await withoutBubblewrap.probe()
    expect([driver?.isHealthy, driver?.message, more]).toEqual([
      false,
      expect.stringMatching(/^Boxes cannot be created here: .*bwrap/),
      [],
    ])
    expect(traces()).toEqual([])
  })
})
