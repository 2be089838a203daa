/**
 * What boxes of this machine cost beside what the machine itself costs: a box beside a program of Node and
 * a bare sandbox, a command beside a command, code beside a clone, a page of a box beside one of the API.
 */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import type { Box } from "../../adapters/sandbox/boxhost/port.ts"
import { bringCode } from "../../src/boxes/bring-code.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest, judged } from "../benchmark.ts"
import type { Desk } from "../code/git.ts"
import { makeBare, makeCopy, openDesk } from "../code/git.ts"
import { elapsed, medianOf } from "../ground/elapsed.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { House } from "../ground/house.ts"
import { openHouse } from "../ground/house.ts"
import type { Tenant } from "./tenant.ts"
import { openTenant } from "./tenant.ts"
import { getter, pageIn, startOne } from "./work.ts"
import { idleBytes } from "./weight.ts"

const exec = promisify(execFile)

const MIB = 1024 * 1024
/** Twenty megabytes that nothing packs smaller. */
const CODE = { files: 40, bytes: MIB / 2 }
/** What takes milliseconds is done so often, and its median told. */
const OFTEN = 31
const SMALL_FILE_BYTES = 3_000
/** Nothing is asked of a box for so long before it is weighed. */
const SETTLED_MS = 1_000
/** So many are weighed together. */
const IDLE = 8

/** Boxes. */
export const boxes: Benchmark = {
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
    judged("box start", "a box ÷ bare node and bwrap", "start", "ground", 2.5, 4),
    judged("box code", "20 MB into a box ÷ clone", "code", "clone", 2, 4),
    judged("box command", "a command ÷ on the machine", "command", "shell", 3.5, 6),
    judged("box read", "a read ÷ a command", "read", "command", 1.3, 2),
    judged("box preview", "a preview ÷ an own page", "preview", "route", 10, 20),
    judged("box idle", "memory of an idle box, bytes", "idle", null, 20 * MIB, 40 * MIB),
    judged("box stop", "end of a box, ms", "stop", null, 2_000, 2_000),
  ],
  open: openBoxes,
}

async function openBoxes({ report }: Setting): Promise<Opened> {
  const desk = await openDesk()
  const house = await openHouse().catch(async (error: unknown) => {
    await desk.remove()
    throw error
  })
  let box: Box | null = null
  const close = async (): Promise<void> => {
    await box?.stop()
    await house.close()
    await desk.remove()
  }
  try {
    const why = await whyNone(house)
    if (why !== null) return { measure: {}, absent: absentBy(why), check: nothing, close }
    const app = await buildApp(house.ports, PROGRAM.entries, PROGRAM.retired, {
      rateLimits: "off",
      pages: PROGRAM.pages,
      doors: PROGRAM.doors(house.ports),
    })
    const port = await house.listen(app)
    report("boxes: making 20 MB of files")
    await makeCopy(desk, "copy", CODE.files, CODE.bytes)
    const tenant = await openTenant(house, port)
    await desk.git("copy", "push", "-q", tenant.address, "main")
    await makeBare(desk, "bare")
    await desk.git("copy", "push", "-q", pathToFileURL(join(desk.folder, "bare")).href, "main")
    box = (await tenant.box()).box
    return { ...(await measuring(house, desk, port, tenant, box)), close }
  } catch (error) {
    await close()
    throw error
  }
}

const nothing = async (): Promise<void> => undefined

/** Why there are no boxes here; null where there are. */
async function whyNone({ ports }: House): Promise<string | null> {
  if (process.platform !== "linux") return "boxes are made on Linux only"
  return (await ports.boxHost.hasRoom("small")) ? null : "no box can be made on this machine"
}

function absentBy(why: string): Readonly<Record<string, string>> {
  return Object.fromEntries(boxes.figures.map(({ name }) => [name, why]))
}

/** How each figure is measured. The box that is worked in is one that somebody started by the API. */
async function measuring(
  house: House,
  desk: Desk,
  port: number,
  tenant: Tenant,
  worked: Box,
): Promise<Omit<Opened, "close">> {
  const { ports } = house
  let made = 0
  let last: Box | null = null
  const own = getter(port, "127.0.0.1", "/livez")
  const link = await pageIn(worked, tenant)
  const seen = getter(port, link, "/")
  const run = () => ran(worked)
  return {
    measure: {
      flush: () => flushMicroseconds(house.pool),
      ground: async () => {
        const node = await elapsed(() => exec(process.execPath, ["-e", "0"]))
        return node + (await elapsed(() => exec("bwrap", ["--ro-bind", "/", "/", "true"])))
      },
      start: () =>
        elapsed(async () => {
          last = await startOne(ports)
          await ran(last)
        }),
      clone: () => {
        made += 1
        const into = `clone-${made}`
        return elapsed(() => desk.git(".", "clone", "-q", "--no-local", "bare", into))
      },
      code: () =>
        elapsed(async () => {
          if (last === null) throw new Error("no box was made before")
          await bringCode(ports, last, { ...tenant, branch: "main" })
        }),
      shell: () => medianOf(OFTEN, () => exec("sh", ["-c", "true"])),
      command: () => medianOf(OFTEN, run),
      read: async () => {
        await ports.boxFiles.write(worked, "small", Buffer.alloc(SMALL_FILE_BYTES, "x"))
        return medianOf(OFTEN, () => ports.boxFiles.read(worked, "small", SMALL_FILE_BYTES))
      },
      route: () => medianOf(OFTEN, own),
      preview: () => medianOf(OFTEN, seen),
      idle: () => idleIn(house),
      stop: () => elapsed(async () => last?.stop()),
    },
    check: async () => {
      await house.settle()
      const { boxes: left } = await house.operate("box list", { company: tenant.companyId })
      honest(left[0]?.status === "running", `the box is ${left[0]?.status}`)
    },
  }
}

/** What each of some boxes weighs that nothing is asked of: they share the program of their keepers. */
async function idleIn({ ports }: House): Promise<number> {
  const idle = await Promise.all(Array.from({ length: IDLE }, () => startOne(ports)))
  try {
    await ports.pacer.pause(SETTLED_MS)
    const weighed = await Promise.all(idle.map(({ boxId }) => idleBytes(boxId)))
    return weighed.reduce((sum, bytes) => sum + bytes, 0) / IDLE
  } finally {
    await Promise.all(idle.map((box) => box.stop()))
  }
}

/** Runs the smallest command. @throws Dishonest where it did not run */
async function ran(box: Box): Promise<void> {
  const options = { timeoutMs: 10_000, mostBytes: 1_000, activity: true }
  const { exitCode } = await box.run(["sh", "-c", "true"], options)
  honest(exitCode === 0, `a command ended with ${exitCode}`)
}
