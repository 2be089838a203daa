/** Control groups: the kernel's limits for a whole box, where this user may create them. */
import { createHash } from "node:crypto"
import {
  access,
  chown,
  constants,
  mkdir,
  readFile,
  readdir,
  rmdir,
  writeFile,
} from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Pacer } from "../../../machine/clock/port.ts"
import { systemErrorCodeOf, isNotFoundError } from "./programs.ts"
import type { SandboxSize } from "../port.ts"

const CONTROLLERS = ["memory", "pids", "cpu"] as const
type Controller = (typeof CONTROLLERS)[number]
const CPU_PERIOD_US = 100_000
/** The parent group of all boxes; each is named after its run folder and itself. */
const BOXES_FOLDER = "ledger-boxes"

export interface BoxControlGroups {
  /** All folders, outermost first. */
  readonly folders: readonly string[]
  /** The folders that the agent must see to add commands. */
  readonly visibleFolders: readonly string[]
  /** Files to which a command writes its process id. */
  readonly commandProcsFiles: readonly string[]
  /** The file for the agent's own process id; null if it stays in its group. */
  readonly agentProcsFile: string | null
}

export interface ControlGroups {
  /** The version of the kernel's interface; null if no groups can be created. */
  readonly version: 1 | 2 | null
  readonly controllers: ReadonlySet<Controller>
  readonly create: (
    id: string,
    limits: SandboxLimits,
    uid: number | null,
  ) => Promise<BoxControlGroups>
  /** All boxes that have groups, with the groups' folders. */
  readonly listExisting: () => Promise<ReadonlyMap<string, readonly string[]>>
}

const EMPTY_CONTROL_GROUPS: BoxControlGroups = {
  folders: [],
  visibleFolders: [],
  commandProcsFiles: [],
  agentProcsFile: null,
}

/** Used where no groups can be created. */
export const noControlGroups: ControlGroups = {
  version: null,
  controllers: new Set<Controller>(),
  create: async () => EMPTY_CONTROL_GROUPS,
  listExisting: async () => new Map(),
}

const limitFilesV1 = ({ memoryBytes, processes, cores }: SandboxLimits) =>
  ({
    memory: [
      ["memory.limit_in_bytes", memoryBytes],
      ["memory.memsw.limit_in_bytes", memoryBytes],
    ],
    pids: [["pids.max", processes]],
    cpu: [
      ["cpu.cfs_period_us", CPU_PERIOD_US],
      ["cpu.cfs_quota_us", Math.round(cores * CPU_PERIOD_US)],
    ],
  }) as const
const limitFilesV2 = ({ memoryBytes, processes, cores }: SandboxLimits) =>
  ({
    memory: [
      ["memory.max", memoryBytes],
      ["memory.swap.max", 0],
      ["memory.oom.group", 0],
    ],
    pids: [["pids.max", processes]],
    cpu: [["cpu.max", `${Math.round(cores * CPU_PERIOD_US)} ${CPU_PERIOD_US}`]],
  }) as const
/** Kernels without swap accounting lack these. */
const OPTIONAL_FILES = new Set(["memory.memsw.limit_in_bytes", "memory.swap.max"])

/**
 * Finds the groups that can be created here, in a folder at the root of a tree, which only root may
 * create.
 */
export async function findControlGroups(runDir: string): Promise<ControlGroups> {
  const prefix = `${createHash("sha256").update(runDir).digest("hex").slice(0, 12)}-`
  const { unified, controllers } = await findMounts()
  if (controllers.memory !== undefined) return controlGroupsV1(controllers, prefix)
  return unified === null ? noControlGroups : controlGroupsV2(join(unified, BOXES_FOLDER), prefix)
}

type ControllerMounts = Partial<Record<Controller, string>>

/** Finds the mount points of control groups. */
async function findMounts(): Promise<{ unified: string | null; controllers: ControllerMounts }> {
  const found: { unified: string | null; controllers: ControllerMounts } = {
    unified: null,
    controllers: {},
  }
  for (const line of (await readFile("/proc/self/mountinfo", "utf8")).split("\n")) {
    const [before = "", after = ""] = line.split(" - ")
    const [type, , options = ""] = after.split(" ")
    const mountPoint = before.split(" ")[4] ?? ""
    if (type === "cgroup2") found.unified = mountPoint
    if (type !== "cgroup") continue
    for (const controller of CONTROLLERS) {
      if (options.split(",").includes(controller)) found.controllers[controller] = mountPoint
    }
  }
  return found
}

/** Whether a write succeeds; other users may lack the right. */
async function tryWrite(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing
    return true
  } catch (error) {
    const refusals = ["EACCES", "EPERM", "EROFS", "ENOENT", "EBUSY", "EINVAL", "EOPNOTSUPP"]
    if (refusals.includes(systemErrorCodeOf(error) ?? "")) return false
    throw error
  }
}

/** Whether this folder exists and is writable; it may belong to another user. */
const makeFolder = (path: string): Promise<boolean> =>
  tryWrite(mkdir(path, { recursive: true }).then(() => access(path, constants.W_OK)))

async function setLimits(
  folder: string,
  limits: readonly (readonly [name: string, value: string | number])[],
): Promise<void> {
  for (const [name, value] of limits) {
    try {
      await writeFile(join(folder, name), String(value))
    } catch (error) {
      if (!(isNotFoundError(error) && OPTIONAL_FILES.has(name))) throw error
    }
  }
}

async function changeOwner(uid: number | null, paths: readonly string[]): Promise<void> {
  if (uid === null) return
  for (const path of paths) await chown(path, uid, uid)
}

/** Version 1: one tree per controller. The owner of a group's process list may add itself. */
async function controlGroupsV1(mounted: ControllerMounts, prefix: string): Promise<ControlGroups> {
  const trees = new Map<Controller, string>()
  for (const controller of CONTROLLERS) {
    const mountPoint = mounted[controller]
    const tree = mountPoint === undefined ? null : join(mountPoint, BOXES_FOLDER)
    if (tree !== null && (await makeFolder(tree))) trees.set(controller, tree)
  }
  if (trees.size === 0) return noControlGroups
  return {
    version: 1,
    controllers: new Set(trees.keys()),
    create: async (id, limits, uid) => {
      const folders: string[] = []
      for (const [controller, tree] of trees) {
        const folder = join(tree, prefix + id)
        await mkdir(folder, { recursive: true })
        await setLimits(folder, limitFilesV1(limits)[controller])
        await changeOwner(uid, [join(folder, "cgroup.procs")])
        folders.push(folder)
      }
      const commandProcsFiles = folders.map((folder) => join(folder, "cgroup.procs"))
      return { folders, visibleFolders: folders, commandProcsFiles, agentProcsFile: null }
    },
    listExisting: () => listGroupsIn([...trees.values()], prefix, () => []),
  }
}

/**
 * Version 2: one tree. A process in a box's subtree may move within it, so the agent is put there,
 * next to the group of its commands and outside of their limits.
 */
async function controlGroupsV2(tree: string, prefix: string): Promise<ControlGroups> {
  if (!(await makeFolder(tree))) return noControlGroups
  for (const folder of [dirname(tree), tree]) await enableControllers(folder)
  const allowed = (await readFile(join(tree, "cgroup.subtree_control"), "utf8")).split(/\s/)
  const controllers = new Set(CONTROLLERS.filter((controller) => allowed.includes(controller)))
  const partsOf = (folder: string) => [join(folder, "keeper"), join(folder, "work")] as const
  return {
    version: 2,
    controllers,
    create: async (id, limits, uid) => {
      const folder = join(tree, prefix + id)
      await mkdir(folder, { recursive: true })
      await enableControllers(folder)
      const [keeper, work] = partsOf(folder)
      for (const part of [keeper, work]) await mkdir(part, { recursive: true })
      for (const controller of controllers) await setLimits(work, limitFilesV2(limits)[controller])
      const folders = [folder, keeper, work]
      const lists = folders.map((group) => join(group, "cgroup.procs"))
      await changeOwner(uid, [...folders, ...lists])
      return {
        folders,
        visibleFolders: [folder],
        commandProcsFiles: [join(work, "cgroup.procs")],
        agentProcsFile: join(keeper, "cgroup.procs"),
      }
    },
    listExisting: () => listGroupsIn([tree], prefix, partsOf),
  }
}

/** Enables all available controllers for the groups in a folder. */
async function enableControllers(folder: string): Promise<void> {
  for (const controller of CONTROLLERS) {
    await tryWrite(writeFile(join(folder, "cgroup.subtree_control"), `+${controller}`))
  }
}

/** The boxes of this run folder with a group in one of these trees. */
async function listGroupsIn(
  trees: readonly string[],
  prefix: string,
  partsOf: (folder: string) => readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>()
  for (const tree of trees) {
    for (const entry of await readdir(tree, { withFileTypes: true })) {
      if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue
      const [folder, id] = [join(tree, entry.name), entry.name.slice(prefix.length)]
      found.set(id, [...(found.get(id) ?? []), folder, ...partsOf(folder)])
    }
  }
  return found
}

/** Removes groups when they are empty. Idempotent. */
export async function removeControlGroups(folders: readonly string[], pacer: Pacer): Promise<void> {
  for (const folder of folders.toReversed()) {
    while (!(await tryRemove(folder))) await pacer.pause(2)
  }
}

/** Whether a group is gone; it cannot be removed while a process in it is ending. */
async function tryRemove(folder: string): Promise<boolean> {
  try {
    await rmdir(folder)
    return true
  } catch (error) {
    if (systemErrorCodeOf(error) === "EBUSY") return false
    if (isNotFoundError(error)) return true
    throw error
  }
}

const MEBIBYTE = 1024 * 1024
const GIBIBYTE = 1024 * MEBIBYTE

export interface SandboxLimits {
  readonly memoryBytes: number
  /** Number of processors; may be a fraction. */
  readonly cores: number
  readonly processes: number
  /** Workspace, home and temporary files together. */
  readonly diskBytes: number
  readonly fileBytes: number
  readonly openFiles: number
  readonly sharedMemoryBytes: number
}

export const SANDBOX_LIMITS: Readonly<Record<SandboxSize, SandboxLimits>> = {
  small: {
    memoryBytes: GIBIBYTE,
    cores: 0.5,
    processes: 256,
    diskBytes: 2 * GIBIBYTE,
    fileBytes: 2 * GIBIBYTE,
    openFiles: 4_096,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
  medium: {
    memoryBytes: 2 * GIBIBYTE,
    cores: 1,
    processes: 512,
    diskBytes: 5 * GIBIBYTE,
    fileBytes: 4 * GIBIBYTE,
    openFiles: 8_192,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
  large: {
    memoryBytes: 4 * GIBIBYTE,
    cores: 2,
    processes: 1_024,
    diskBytes: 10 * GIBIBYTE,
    fileBytes: 8 * GIBIBYTE,
    openFiles: 16_384,
    sharedMemoryBytes: 128 * MEBIBYTE,
  },
  xlarge: {
    memoryBytes: 8 * GIBIBYTE,
    cores: 4,
    processes: 2_048,
    diskBytes: 20 * GIBIBYTE,
    fileBytes: 16 * GIBIBYTE,
    openFiles: 32_768,
    sharedMemoryBytes: 256 * MEBIBYTE,
  },
  build: {
    memoryBytes: 2 * GIBIBYTE,
    cores: 2,
    processes: 512,
    diskBytes: 4 * GIBIBYTE,
    fileBytes: 4 * GIBIBYTE,
    openFiles: 8_192,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
  preview: {
    memoryBytes: GIBIBYTE,
    cores: 1,
    processes: 256,
    diskBytes: 2 * GIBIBYTE,
    fileBytes: 2 * GIBIBYTE,
    openFiles: 4_096,
    sharedMemoryBytes: 64 * MEBIBYTE,
  },
}

/**
 * Limits on concurrent commands in a box of any size, and on the kept output of background
 * commands.
 */
export const PROCESS_LIMITS = {
  commands: 64,
  background: 32,
  logBytes: 1_000_000,
  keptProcesses: 200,
} as const
