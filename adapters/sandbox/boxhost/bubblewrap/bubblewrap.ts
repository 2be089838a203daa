/**
 * Boxes as sandboxes of this machine: bubblewrap within bubblewrap, with a box agent between. They
 * continue without the program that created them, and every program of the installation on this
 * machine finds them.
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
/** First user id of boxes; each run folder has a thousand, derived from its path. */
const FIRST_UID = 2_000_000
const UIDS_PER_RUN_FOLDER = 1_000
const MAX_RUN_FOLDERS = 1_000_000
/** Share of the machine's memory that boxes may use together. */
const MEMORY_SHARE = 0.8
/** Another program's launch of the same box is polled at this interval, up to the timeout. */
const RETRY_DELAY_MS = 20
const LAUNCH_TIMEOUT_MS = 60_000

/** A host of boxes that also checks this machine and removes what crashes left. */
export interface BubblewrapHost extends BoxHost {
  /** Creates a box briefly and returns findings about this machine. */
  readonly probe: () => Promise<readonly HostFinding[]>
  readonly sweep: () => Promise<readonly SweptBox[]>
}

/** Opens the boxes of this machine. */
export function openBubblewrap(options: BubblewrapOptions): Promise<BubblewrapHost> {
  return openBubblewrapWithPolicy(options, DEFAULT_SANDBOX_POLICY)
}

/** Opens boxes with a policy; only tests use another than the default. */
export async function openBubblewrapWithPolicy(
  options: BubblewrapOptions,
  policy: SandboxPolicy,
): Promise<BubblewrapHost> {
  return new Bubblewrap(await createContext(options, policy))
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
    maxBoxes,
    firstUid: isRoot ? firstUid : null,
  })
  const controlGroups = isDisabled("groups") ? noControlGroups : await findControlGroups(runDir)
  let agentProgram: ReturnType<BubblewrapContext["installAgent"]> | null = null
  const getAgentProgram = () => (agentProgram ??= installAgent(runFolder.programsFolder))
  const installing = new Map<string, Promise<string>>()
  const installOnce = (from: string): Promise<string> => {
    const found = installing.get(from) ?? installPrograms(from, runFolder.programsFolder)
    installing.set(from, found)
    // A failed installation is retried the next time.
    found.catch(() => installing.delete(from))
    return found
  }
  return {
    options,
    pacer,
    runFolder,
    controlGroups,
    installAgent: getAgentProgram,
    installPrograms: installOnce,
    policy,
    isRoot,
    isDisabled,
  }
}

const shortHash = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 8)

/** Two installations on a machine must not use the same user ids. */
function firstUidOf(runDir: string): number {
  const folder = createHash("sha256").update(runDir).digest().readUInt32BE() % MAX_RUN_FOLDERS
  return FIRST_UID + UIDS_PER_RUN_FOLDER * folder
}

class Bubblewrap implements BubblewrapHost {
  readonly #machine: BubblewrapContext
  /** Launches of this program in progress. */
  readonly #starting = new Map<string, Promise<BoxHandle>>()
  /** Whether any box has been created here. */
  #isProven = false

  readonly hostId: string

  constructor(machine: BubblewrapContext) {
    this.#machine = machine
    // The machine's name and the run folder, which differs between installations.
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
    // Without a request to the agent: a preview link does this for each of its pages.
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
    const sum = (limit: "memoryBytes" | "diskBytes") =>
      sizes.reduce((total, limits) => total + limits[limit], 0)
    return (
      sizes.length <= (options.maxBoxes ?? MAX_BOXES) &&
      (!hasGuaranteedCores(size) || SANDBOX_LIMITS[size].cores <= availableParallelism()) &&
      sum("memoryBytes") <= MEMORY_SHARE * availableMemoryBytes() &&
      sum("diskBytes") <= (await freeBytesOn(runFolder.path)) &&
      (await this.#canCreateBoxes())
    )
  }

  readonly probe = async (): Promise<readonly HostFinding[]> => {
    const outcome = await this.#tryCreate()
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
          // It has just ended.
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

  /** Every box whose agent lives. */
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
          `another program has been launching this box for more than ${LAUNCH_TIMEOUT_MS / 1_000} s`,
        )
      }
      await pacer.pause(RETRY_DELAY_MS)
    }
  }

  /** Launches a box; null if another program does. @throws ProviderUnavailable */
  async #launch(name: string, plan: BoxPlan): Promise<LaunchedBox | null> {
    const machine = this.#machine
    const claimed = await machine.runFolder.claim(name, plan.size, plan.volume !== undefined)
    if (claimed === "full")
      throw new ProviderUnavailable("the maximum number of boxes runs here; try again later")
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

  /** Removes a dead box of this name that blocks a launch. */
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

  /** Whether boxes can be created here; tried until it succeeds once. */
  async #canCreateBoxes(): Promise<boolean> {
    return this.#isProven || typeof (await this.#tryCreate()) !== "string"
  }

  /** Creates a box briefly; returns the reason if that fails. */
  async #tryCreate(): Promise<LaunchedBox | string> {
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
      if (launched === null) throw new Error("the random name of the probe box is taken")
      return exitCode === 0 ? launched : `the first command exited with code ${exitCode}`
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error
      return error.message
    }
  }
}

/**
 * Whether the user pays for a number of processors; builds and previews use what
 * is available.
 */
const hasGuaranteedCores = (size: SandboxSize): boolean => size !== "build" && size !== "preview"

/** The sandbox's error output in one line; the last part, which says why it ended. */
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

/** The memory of this machine or its container. */
function availableMemoryBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
