/**
 * Boxes as sandboxes of this machine: bubblewrap within bubblewrap, and a keeper between the two. They
 * go on without the program that made them, and every program of the installation here finds them.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { availableParallelism, hostname, totalmem } from "node:os"
import type { BoxId } from "../../../../domain/boxes/ids.ts"
import { ProviderSilent, ProviderUnavailable } from "../../../providers/outside.ts"
import {
  type Box,
  BoxGone,
  type BoxHost,
  type BoxPlan,
  type SandboxId,
  type SandboxSize,
} from "../port.ts"
import { boxAt, environmentOf } from "./client.ts"
import { type Swept, endBox, sweepBoxes } from "./ending.ts"
import { findGroups, noGroups, SIZES } from "./groups.ts"
import { type Launched, launch } from "./launch.ts"
import { freeOn, removed } from "./disk.ts"
import { type HostFinding, findings } from "./probe.ts"
import { isAbsent, lives, layKeeper, layPrograms } from "./program.ts"
import { openRunFolder } from "./run-folder.ts"
import { type BubblewrapOptions, CannotLaunch, type Machine } from "./settings.ts"
import { type Shape, WALLS } from "./shape.ts"

export type { HostFinding } from "./probe.ts"
export type { BubblewrapOptions } from "./settings.ts"
export type { Swept } from "./ending.ts"

const MOST_BOXES = 100
/** Users of boxes begin here; each run folder has a thousand of its own, by its name. */
const FIRST_UID = 2_000_000
const UIDS = 1_000
const RUN_FOLDERS = 1_000_000
/** So much of the machine's memory boxes may have together. */
const MEMORY_SHARE = 0.8
/** Another program's launch of the same box is looked at so often, for so long. */
const AGAIN_MS = 20
const LAUNCH_WITHIN_MS = 60_000

/** A host of boxes that also says how well it does here, and takes away what crashes left. */
export interface BubblewrapHost extends BoxHost {
  /** Makes a box for a moment, and says what worked. */
  readonly probe: () => Promise<readonly HostFinding[]>
  readonly sweep: () => Promise<readonly Swept[]>
}

/** Opens the boxes of this machine. */
export function openBubblewrap(options: BubblewrapOptions): Promise<BubblewrapHost> {
  return openShaped(options, WALLS)
}

/** Opens boxes with these walls; only tests have others than the true ones. */
export async function openShaped(
  options: BubblewrapOptions,
  shape: Shape,
): Promise<BubblewrapHost> {
  return new Host(await machineOf(options, shape))
}

async function machineOf(options: BubblewrapOptions, shape: Shape): Promise<Machine> {
  const { mostBoxes = MOST_BOXES, pacer, runDir, without = [] } = options
  const { firstUid = firstUidOf(runDir) } = options
  const isRoot = process.getuid?.() === 0
  const lacks: Machine["lacks"] = (part) => without.includes(part)
  const runs = await openRunFolder(runDir, { mostBoxes, firstUid: isRoot ? firstUid : null })
  const groups = lacks("groups") ? noGroups : await findGroups(runDir)
  let keeper: ReturnType<Machine["keeperProgram"]> | null = null
  const keeperProgram = () => (keeper ??= layKeeper(runs.programs))
  const lying = new Map<string, Promise<string>>()
  const laid = (from: string): Promise<string> => {
    const found = lying.get(from) ?? layPrograms(from, runs.programs)
    lying.set(from, found)
    // What did not work once may work later.
    found.catch(() => lying.delete(from))
    return found
  }
  return { options, pacer, runs, groups, keeperProgram, laid, shape, isRoot, lacks }
}

const shortHash = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 8)

/** Two installations on a machine must not take each other's boxes for their own. */
function firstUidOf(runDir: string): number {
  const folder = createHash("sha256").update(runDir).digest().readUInt32BE() % RUN_FOLDERS
  return FIRST_UID + UIDS * folder
}

class Host implements BubblewrapHost {
  readonly #machine: Machine
  /** Launches of this program under way. */
  readonly #starting = new Map<string, Promise<Box>>()
  /** Whether a box was made here, by whatever. */
  #isProven = false

  readonly hostId: string

  constructor(machine: Machine) {
    this.#machine = machine
    // Two installations of a machine have run folders of their own, and machines have names.
    this.hostId = `${hostname().replaceAll(/[^\w.-]/g, "-")}:${shortHash(machine.runs.path)}`
  }

  readonly start = (plan: BoxPlan): Promise<Box> => {
    const { boxId } = plan
    const starting = this.#starting.get(boxId) ?? this.#start(plan)
    this.#starting.set(boxId, starting)
    return starting.finally(() => this.#starting.delete(boxId))
  }

  readonly find = async (boxId: SandboxId): Promise<Box | null> => {
    const record = await this.#machine.runs.read(boxId)
    if (record?.keeper === null || record === null || !record.isReady) return null
    // Not by asking it: a link of a preview is looked up like that for each of its pages.
    return (await lives(record.keeper)) ? this.#box(boxId) : null
  }

  readonly list = async (): Promise<readonly BoxId[]> =>
    (await this.sandboxes()).filter((name): name is BoxId => name.startsWith("box_"))

  readonly sandboxes = async (): Promise<readonly SandboxId[]> => {
    const names = (await this.#running()).map(({ name }) => name)
    return names.filter((name): name is SandboxId => /^(box|build|app)_/.test(name))
  }

  readonly removeVolume = (path: string): Promise<void> => removed(path)

  readonly hasRoom = async (size: SandboxSize): Promise<boolean> => {
    const { options, runs } = this.#machine
    const running = await this.#running()
    const sizes = [...running.map((box) => SIZES[box.size]), SIZES[size]]
    const sum = (what: "memoryBytes" | "diskBytes") =>
      sizes.reduce((total, limits) => total + limits[what], 0)
    return (
      sizes.length <= (options.mostBoxes ?? MOST_BOXES) &&
      (!isPromised(size) || SIZES[size].cores <= availableParallelism()) &&
      sum("memoryBytes") <= MEMORY_SHARE * memoryOfMachine() &&
      sum("diskBytes") <= (await freeOn(runs.path)) &&
      (await this.#isAble())
    )
  }

  readonly probe = async (): Promise<readonly HostFinding[]> => {
    const outcome = await this.#tryOnce()
    return findings(this.#machine, outcome)
  }

  readonly sweep = (): Promise<readonly Swept[]> =>
    sweepBoxes(this.#machine, {
      isOurs: (name) => this.#starting.has(name),
      isSilent: async (name) => {
        try {
          await this.#box(name as BoxId).hello()
          return false
        } catch (error) {
          if (error instanceof ProviderSilent) return true
          // It ended at this moment.
          if (error instanceof BoxGone) return false
          throw error
        }
      },
    })

  #box(boxId: SandboxId): Box {
    const { pacer, runs } = this.#machine
    const { socket } = runs.placesOf(boxId)
    return boxAt({ boxId, socket }, { pacer, end: () => endBox(this.#machine, boxId) })
  }

  /** Every box whose keeper lives. */
  async #running(): Promise<readonly { readonly name: string; readonly size: SandboxSize }[]> {
    const { runs } = this.#machine
    const all = await Promise.all(
      (await runs.names()).map(async (name) => {
        const record = await runs.read(name)
        if (record === null || record.keeper === null) return null
        return (await lives(record.keeper)) ? { name, size: record.size } : null
      }),
    )
    return all.filter((box) => box !== null)
  }

  async #start(plan: BoxPlan): Promise<Box> {
    environmentOf(plan.environment)
    const { pacer } = this.#machine
    for (const from = pacer.elapsedMs(); ;) {
      const found = await this.find(plan.boxId)
      if (found !== null) return found
      const launched = await this.#launch(plan.boxId, plan)
      if (launched !== null) return this.#box(plan.boxId)
      if (pacer.elapsedMs() - from > LAUNCH_WITHIN_MS) {
        throw new ProviderSilent("another program launches this box, and does not come to an end")
      }
      await pacer.pause(AGAIN_MS)
    }
  }

  /** Launches a box; null where another does. @throws ProviderUnavailable */
  async #launch(name: string, plan: BoxPlan): Promise<Launched | null> {
    const machine = this.#machine
    const claimed = await machine.runs.claim(name, plan.size, plan.volume !== undefined)
    if (claimed === "full") throw new ProviderUnavailable("as many boxes run as may here")
    if (claimed === "taken") return this.#clearDead(name)
    try {
      const launched = await launch(machine, plan, { name, record: claimed })
      this.#isProven = true
      return launched
    } catch (error) {
      const log = await logged(machine.runs.placesOf(name).log)
      await endBox(machine, name)
      if (!(error instanceof CannotLaunch)) throw error
      throw new ProviderUnavailable(log === "" ? error.message : `${error.message}: ${log}`)
    }
  }

  /** Takes away what stands in the way of a launch, where nobody is about to do so. */
  async #clearDead(name: string): Promise<null> {
    const record = await this.#machine.runs.read(name)
    if (record === null) return null
    const { isReady, keeper, launcher } = record
    const isAlive = isReady ? keeper !== null && (await lives(keeper)) : await lives(launcher)
    if (!isAlive) await endBox(this.#machine, name)
    return null
  }

  /** Whether boxes can be made here: tried until one was. */
  async #isAble(): Promise<boolean> {
    return this.#isProven || typeof (await this.#tryOnce()) !== "string"
  }

  /** Makes a box for a moment; why it could not be made. */
  async #tryOnce(): Promise<Launched | string> {
    const name = `probe_${crypto.randomUUID().replaceAll("-", "")}`
    const plan: BoxPlan = {
      boxId: name as BoxId,
      companyId: "co_probe",
      size: "small",
      leaseMs: 60_000,
      environment: {},
    }
    try {
      const launched = await this.#launch(name, plan)
      const options = { timeoutMs: 10_000, mostBytes: 1_000, activity: false }
      const { exitCode } = await this.#box(plan.boxId).run(["true"], options)
      await this.#box(plan.boxId).stop()
      if (launched === null) throw new Error("a box of a name that is nobody's was taken")
      return exitCode === 0 ? launched : `the first command ended with ${exitCode}`
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error
      return error.message
    }
  }
}

/** Whether this many processors are what its user is told of: builds and apps use what there is. */
const isPromised = (size: SandboxSize): boolean => size !== "build" && size !== "preview"

/** What the sandbox complained of, in one line: the last of it, which is why it ended. */
async function logged(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8"))
      .trim()
      .replaceAll(/\s*\n\s*/g, "; ")
      .slice(-1_000)
  } catch (error) {
    if (isAbsent(error)) return ""
    throw error
  }
}

/** What this machine has, or what of it a container gives. */
function memoryOfMachine(): number {
  const given = process.constrainedMemory()
  return given > 0 ? Math.min(given, totalmem()) : totalmem()
}
