/**
 * The cost of boxes on this machine, compared with the machine itself: a box with a Node program and a bare sandbox, a
 * command with a command, code with a clone, a page of a box with a page of the API.
 */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import type { BoxHandle } from "../../adapters/sandbox/boxhost/port.ts"
import { checkOutCompanyCode } from "../../src/boxes/check-out-code.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement, lowerIsBetter } from "../benchmark.ts"
import type { GitWorkspace } from "../code/git-workspace.ts"
import { createBareRepository, createWorkingCopy, openGitWorkspace } from "../code/git-workspace.ts"
import { measureMs, medianMs } from "../fixtures/elapsed.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import type { Tenant } from "./tenant.ts"
import { openTenant } from "./tenant.ts"
import { pageGetter, servePage, startUnbilledBox } from "./box-tasks.ts"
import { boxMemoryBytes } from "./box-memory.ts"

const exec = promisify(execFile)

const MIB = 1024 * 1024
/** Twenty megabytes of incompressible data. */
const CODE = { files: 40, bytes: MIB / 2 }
/** Work that takes milliseconds is repeated so often; the median is the figure. */
const REPETITIONS = 31
const SMALL_FILE_BYTES = 3_000
/** A box is idle for this long before its memory is measured. */
const SETTLE_MS = 1_000
/** Number of boxes whose memory is measured together. */
const IDLE_BOXES = 8

export const boxesBenchmark: Benchmark = {
  name: "boxes",
  title: "a box: made, brought code, worked in, looked at, idle, ended",
  stores: ["postgres"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "ground", title: "a bare node and a bare bwrap, one after the other", unit: "ms" },
    { name: "start", title: "a box until its first command has run", unit: "ms" },
    { name: "clone", title: "git clone --no-local of 20 MB on the machine", unit: "ms" },
    { name: "code", title: "the same repository into a box", unit: "ms" },
    { name: "shell", title: "sh -c true on the machine", unit: "ms" },
    { name: "command", title: "the same in a box", unit: "ms" },
    { name: "read", title: "read of 3 KB in a box", unit: "ms" },
    { name: "route", title: "a page of the server's own", unit: "ms" },
    { name: "preview", title: "a page that a box serves, by its link", unit: "ms" },
    { name: "idle", title: "memory that each of eight idle boxes takes", unit: "bytes" },
    { name: "stop", title: "end of a box", unit: "ms" },
  ],
  ratios: [
    lowerIsBetter("box start", "a box ÷ bare node and bwrap", "start", "ground", 2.5, 4),
    lowerIsBetter("box code", "20 MB into a box ÷ clone", "code", "clone", 2, 4),
    lowerIsBetter("box command", "a command ÷ on the machine", "command", "shell", 3.5, 6),
    lowerIsBetter("box read", "a read ÷ a command", "read", "command", 1.3, 2),
    lowerIsBetter("box preview", "a preview ÷ an own page", "preview", "route", 10, 20),
    lowerIsBetter("box idle", "memory of an idle box, bytes", "idle", null, 20 * MIB, 40 * MIB),
    lowerIsBetter("box stop", "end of a box, ms", "stop", null, 2_000, 2_000),
  ],
  open: openBoxes,
}

async function openBoxes({ report }: BenchmarkContext): Promise<OpenBenchmark> {
  const desk = await openGitWorkspace()
  const house = await openBenchInstallation().catch(async (error: unknown) => {
    await desk.remove()
    throw error
  })
  let box: BoxHandle | null = null
  const close = async (): Promise<void> => {
    await box?.stop()
    await house.close()
    await desk.remove()
  }
  try {
    const why = await unavailableReason(house)
    if (why !== null) return { measure: {}, skipped: skipAll(why), check: nothing, close }
    const app = await buildApp(house.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
      rateLimits: "off",
      pages: PROGRAM.pages,
      hostRoutes: PROGRAM.hostRoutes(house.ports),
    })
    const port = await house.listen(app)
    report("boxes: making 20 MB of files")
    await createWorkingCopy(desk, "copy", CODE.files, CODE.bytes)
    const tenant = await openTenant(house, port)
    await desk.git("copy", "push", "-q", tenant.repositoryUrl, "main")
    await createBareRepository(desk, "bare")
    await desk.git("copy", "push", "-q", pathToFileURL(join(desk.folder, "bare")).href, "main")
    box = (await tenant.startBox()).box
    return { ...(await measurements(house, desk, port, tenant, box)), close }
  } catch (error) {
    await close()
    throw error
  }
}

const nothing = async (): Promise<void> => undefined

/** Why there are no boxes here; null if there are. */
async function unavailableReason({ ports }: BenchInstallation): Promise<string | null> {
  if (process.platform !== "linux") return "boxes are made on Linux only"
  return (await ports.boxHost.hasRoom("small")) ? null : "no box can be made on this machine"
}

function skipAll(why: string): Readonly<Record<string, string>> {
  return Object.fromEntries(boxesBenchmark.figures.map(({ name }) => [name, why]))
}

/** How each figure is measured. The box for work was started by the API. */
async function measurements(
  house: BenchInstallation,
  desk: GitWorkspace,
  port: number,
  tenant: Tenant,
  worked: BoxHandle,
): Promise<Omit<OpenBenchmark, "close">> {
  const { ports } = house
  let made = 0
  let last: BoxHandle | null = null
  const own = pageGetter(port, "127.0.0.1", "/livez")
  const link = await servePage(worked, tenant)
  const seen = pageGetter(port, link, "/")
  const run = () => runTrivialCommand(worked)
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      ground: async () => {
        const node = await measureMs(() => exec(process.execPath, ["-e", "0"]))
        return node + (await measureMs(() => exec("bwrap", ["--ro-bind", "/", "/", "true"])))
      },
      start: () =>
        measureMs(async () => {
          last = await startUnbilledBox(ports)
          await runTrivialCommand(last)
        }),
      clone: () => {
        made += 1
        const into = `clone-${made}`
        return measureMs(() => desk.git(".", "clone", "-q", "--no-local", "bare", into))
      },
      code: () =>
        measureMs(async () => {
          if (last === null) throw new Error("no box was made before")
          await checkOutCompanyCode(ports, last, { ...tenant, branch: "main" })
        }),
      shell: () => medianMs(REPETITIONS, () => exec("sh", ["-c", "true"])),
      command: () => medianMs(REPETITIONS, run),
      read: async () => {
        await ports.boxFiles.writeFile(worked, "small", Buffer.alloc(SMALL_FILE_BYTES, "x"))
        return medianMs(REPETITIONS, () =>
          ports.boxFiles.readFile(worked, "small", SMALL_FILE_BYTES),
        )
      },
      route: () => medianMs(REPETITIONS, own),
      preview: () => medianMs(REPETITIONS, seen),
      idle: () => idleBoxBytes(house),
      stop: () => measureMs(async () => last?.stop()),
    },
    check: async () => {
      await house.waitUntilIdle()
      const { boxes: left } = await house.operate("box list", { company: tenant.companyId })
      assertMeasurement(left[0]?.status === "running", `the box is ${left[0]?.status}`)
    },
  }
}

/** Memory of each of some idle boxes; they share the program of their box agents. */
async function idleBoxBytes({ ports }: BenchInstallation): Promise<number> {
  const idle = await Promise.all(Array.from({ length: IDLE_BOXES }, () => startUnbilledBox(ports)))
  try {
    await ports.pacer.pause(SETTLE_MS)
    const weighed = await Promise.all(idle.map(({ boxId }) => boxMemoryBytes(boxId)))
    return weighed.reduce((sum, bytes) => sum + bytes, 0) / IDLE_BOXES
  } finally {
    await Promise.all(idle.map((box) => box.stop()))
  }
}

/** Runs the smallest command. @throws InvalidMeasurement if it did not run */
async function runTrivialCommand(box: BoxHandle): Promise<void> {
  const options = { timeoutMs: 10_000, maxOutputBytes: 1_000, isActivity: true }
  const { exitCode } = await box.run(["sh", "-c", "true"], options)
  assertMeasurement(exitCode === 0, `a command ended with ${exitCode}`)
}
