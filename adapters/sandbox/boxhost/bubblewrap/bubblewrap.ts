/**
 * Boxes as sandboxes of this machine: bubblewrap within bubblewrap, and a keeper between the two. They
 * go on without the program that made them, and every program of the installation here finds them.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { availableParallelism, hostname, totalmem } from "node:os"
import type { BoxId } from "../../../../domain/boxes/ids.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../../../providers/provider-errors.ts"
import {
  type BoxHandle,
  BoxGone,
  type BoxHost,
  type BoxPlan,
  type SandboxId,
  type SandboxSize,
} from "../port.ts"
import { openBoxHandle, checkEnvironment } from "./agent-client.ts"
import { type SweptBox, endBox, sweepBoxes } from "./end-box.ts"
import { findControlGroups, noControlGroups, SANDBOX_LIMITS } from "./control-groups.ts"
import { type LaunchedBox, launchBox } from "./launch.ts"
import { freeBytesOn, removeFolder } from "./disk.ts"
import { type HostFinding, hostFindings } from "./probe.ts"
import { isNotFoundError, isRunning, installAgent, installPrograms } from "./programs.ts"
import { openRunFolder } from "./run-folder.ts"
import { type BubblewrapOptions, LaunchFailed, type BubblewrapContext } from "./options.ts"
import { type SandboxPolicy, DEFAULT_SANDBOX_POLICY } from "./sandbox-policy.ts"

export type { HostFinding } from "./probe.ts"
export type { BubblewrapOptions } from "./options.ts"
export type { SweptBox } from "./end-box.ts"

const MAX_BOXES = 100
/** Users of boxes begin here; each run folder has a thousand of its own, by its name. */
const FIRST_UID = 2_000_000
const UIDS_PER_RUN_FOLDER = 1_000
const MAX_RUN_FOLDERS = 1_000_000
/** So much of the machine's memory boxes may have together. */
const MEMORY_SHARE = 0.8
/** Another program's launch of the same box is looked at so often, for so long. */
const RETRY_DELAY_MS = 20
const LAUNCH_TIMEOUT_MS = 60_000

/** A host of boxes that also says how well it does here, and takes away what crashes left. */
export interface BubblewrapHost extends BoxHost {
  /** Makes a box for a moment, and says what worked. */
  readonly probe: () => Promise<readonly HostFinding[]>
  readonly sweep: () => Promise<readonly SweptBox[]>
}

/** Opens the boxes of this machine. */
export function openBubblewrap(options: BubblewrapOptions): Promise<BubblewrapHost> {
  return openBubblewrapWithPolicy(options, DEFAULT_SANDBOX_POLICY)
}

/** Opens boxes with these walls; only tests have others than the true ones. */
export async function openBubblewrapWithPolicy(
  options: BubblewrapOptions,
  shape: SandboxPolicy,
): Promise<BubblewrapHost> {
  return new Bubblewrap(await createContext(options, shape))
}

async function createContext(
  options: BubblewrapOptions,
  policy: SandboxPolicy,
): Promise<BubblewrapContext> {
  const { maxBoxes = MAX_BOXES, pacer, runDir, disabledCapabilities = [] } = options
  const { firstUid = firstUidOf(runDir) } = options
  const isRoot = process.getuid?.() === 0
  const isDisabled: BubblewrapContext["isDisabled"] = (part) => disabledCapabilities.includes(part)
  const runFolder = await openRunFolder(runDir, {
    mostBoxes: maxBoxes,
    firstUid: isRoot ? firstUid : null,
  })
  const controlGroups = isDisabled("groups") ? noControlGroups : await findControlGroups(runDir)
  let keeper: ReturnType<BubblewrapContext["installAgent"]> | null = null
  const keeperProgram = () => (keeper ??= installAgent(runFolder.programsFolder))
  const lying = new Map<string, Promise<string>>()
  const laid = (from: string): Promise<string> => {
    const found = lying.get(from) ?? installPrograms(from, runFolder.programsFolder)
    lying.set(from, found)
    // What did not work once may work later.
    found.catch(() => lying.delete(from))
    return found
  }
  return {
    options,
    pacer,
    runFolder,
    controlGroups,
    installAgent: keeperProgram,
    installPrograms: laid,
    policy,
    isRoot,
    isDisabled,
  }
}

const shortHash = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 8)

/** Two installations on a machine must not take each other's boxes for their own. */
function firstUidOf(runDir: string): number {
  const folder = createHash("sha256").update(runDir).digest().readUInt32BE() % MAX_RUN_FOLDERS
  return FIRST_UID + UIDS_PER_RUN_FOLDER * folder
}

class Bubblewrap implements BubblewrapHost {
  readonly #machine: BubblewrapContext
  /** Launches of this program under way. */
  readonly #starting = new Map<string, Promise<BoxHandle>>()
  /** Whether a box was made here, by whatever. */
  #isProven = false

  readonly hostId: string

  constructor(machine: BubblewrapContext) {
    this.#machine = machine
    // Two installations of a machine have run folders of their own, and machines have names.
    this.hostId = `${hostname().replaceAll(/[^\w.-]/g, "-")}:${shortHash(machine.runFolder.path)}`
  }

  readonly start = (plan: BoxPlan): Promise<BoxHandle> => {
    const { boxId } = plan
    const starting = this.#starting.get(boxId) ?? this.#start(plan)
    this.#starting.set(boxId, starting)
    return starting.finally(() => this.#starting.delete(boxId))
  }

  readonly find = async (boxId: SandboxId): Promise<BoxHandle | null> => {
    const record = await this.#machine.runFolder.read(boxId)
    if (record?.keeper === null || record === null || !record.isReady) return null
    // Not by asking it: a link of a preview is looked up like that for each of its pages.
    return (await isRunning(record.keeper)) ? this.#box(boxId) : null
  }

  readonly listBoxes = async (): Promise<readonly BoxId[]> =>
    (await this.listSandboxes()).filter((name): name is BoxId => name.startsWith("box_"))

  readonly listSandboxes = async (): Promise<readonly SandboxId[]> => {
    const names = (await this.#running()).map(({ name }) => name)
    return names.filter((name): name is SandboxId => /^(box|build|app)_/.test(name))
  }

  readonly removeVolume = (path: string): Promise<void> => removeFolder(path)

  readonly hasRoom = async (size: SandboxSize): Promise<boolean> => {
    const { options, runFolder } = this.#machine
    const running = await this.#running()
    const sizes = [...running.map((box) => SANDBOX_LIMITS[box.size]), SANDBOX_LIMITS[size]]
    const sum = (what: "memoryBytes" | "diskBytes") =>
      sizes.reduce((total, limits) => total + limits[what], 0)
    return (
      sizes.length <= (options.maxBoxes ?? MAX_BOXES) &&
      (!hasGuaranteedCores(size) || SANDBOX_LIMITS[size].cores <= availableParallelism()) &&
      sum("memoryBytes") <= MEMORY_SHARE * availableMemoryBytes() &&
      sum("diskBytes") <= (await freeBytesOn(runFolder.path)) &&
      (await this.#isAble())
    )
  }

  readonly probe = async (): Promise<readonly HostFinding[]> => {
    const outcome = await this.#tryOnce()
    return hostFindings(this.#machine, outcome)
  }

  readonly sweep = (): Promise<readonly SweptBox[]> =>
    sweepBoxes(this.#machine, {
      isOurs: (name) => this.#starting.has(name),
      isSilent: async (name) => {
        try {
          await this.#box(name as BoxId).readHealth()
          return false
        } catch (error) {
          if (error instanceof ProviderOutcomeUnknown) return true
          // It ended at this moment.
          if (error instanceof BoxGone) return false
          throw error
        }
      },
    })

  #box(boxId: SandboxId): BoxHandle {
    const { pacer, runFolder } = this.#machine
    const { agentSocket } = runFolder.pathsOf(boxId)
    return openBoxHandle(
      { boxId, socket: agentSocket },
      { pacer, end: () => endBox(this.#machine, boxId) },
    )
  }

  /** Every box whose keeper lives. */
  async #running(): Promise<readonly { readonly name: string; readonly size: SandboxSize }[]> {
    const { runFolder } = this.#machine
    const all = await Promise.all(
      (await runFolder.listNames()).map(async (name) => {
        const record = await runFolder.read(name)
        if (record === null || record.keeper === null) return null
        return (await isRunning(record.keeper)) ? { name, size: record.size } : null
      }),
    )
    return all.filter((box) => box !== null)
  }

  async #start(plan: BoxPlan): Promise<BoxHandle> {
    checkEnvironment(plan.environment)
    const { pacer } = this.#machine
    for (const from = pacer.elapsedMs(); ;) {
      const found = await this.find(plan.boxId)
      if (found !== null) return found
      const launched = await this.#launch(plan.boxId, plan)
      if (launched !== null) return this.#box(plan.boxId)
      if (pacer.elapsedMs() - from > LAUNCH_TIMEOUT_MS) {
        throw new ProviderOutcomeUnknown(
          "another program launches this box, and does not come to an end",
        )
      }
      await pacer.pause(RETRY_DELAY_MS)
    }
  }

  /** Launches a box; null where another does. @throws ProviderUnavailable */
  async #launch(name: string, plan: BoxPlan): Promise<LaunchedBox | null> {
    const machine = this.#machine
    const claimed = await machine.runFolder.claim(name, plan.size, plan.volume !== undefined)
    if (claimed === "full") throw new ProviderUnavailable("as many boxes run as may here")
    if (claimed === "taken") return this.#clearDead(name)
    try {
      const launched = await launchBox(machine, plan, { name, record: claimed })
      this.#isProven = true
      return launched
    } catch (error) {
      const log = await readLogLine(machine.runFolder.pathsOf(name).log)
      await endBox(machine, name)
      if (!(error instanceof LaunchFailed)) throw error
      throw new ProviderUnavailable(log === "" ? error.message : `${error.message}: ${log}`)
    }
  }

  /** Takes away what stands in the way of a launch, where nobody is about to do so. */
  async #clearDead(name: string): Promise<null> {
    const record = await this.#machine.runFolder.read(name)
    if (record === null) return null
    const { isReady, keeper, launcher } = record
    const isAlive = isReady
      ? keeper !== null && (await isRunning(keeper))
      : await isRunning(launcher)
    if (!isAlive) await endBox(this.#machine, name)
    return null
  }

  /** Whether boxes can be made here: tried until one was. */
  async #isAble(): Promise<boolean> {
    return this.#isProven || typeof (await this.#tryOnce()) !== "string"
  }

  /** Makes a box for a moment; why it could not be made. */
  async #tryOnce(): Promise<LaunchedBox | string> {
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
      const options = { timeoutMs: 10_000, maxOutputBytes: 1_000, isActivity: false }
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
const hasGuaranteedCores = (size: SandboxSize): boolean => size !== "build" && size !== "preview"

/** What the sandbox complained of, in one line: the last of it, which is why it ended. */
async function readLogLine(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8"))
      .trim()
      .replaceAll(/\s*\n\s*/g, "; ")
      .slice(-1_000)
  } catch (error) {
    if (isNotFoundError(error)) return ""
    throw error
  }
}

/** What this machine has, or what of it a container gives. */
function availableMemoryBytes(): number {
  const given = process.constrainedMemory()
  return given > 0 ? Math.min(given, totalmem()) : totalmem()
}
