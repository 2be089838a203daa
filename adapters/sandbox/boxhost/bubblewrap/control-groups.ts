/** Control groups: what the kernel holds a whole box to, where this user may make them. */
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
/** The folder of all boxes of a machine; each is called after its run folder and itself. */
const BOXES_FOLDER = "ledger-boxes"

/** The groups of one box. */
export interface BoxControlGroups {
  /** All folders, the outermost first. */
  readonly folders: readonly string[]
  /** Those that a keeper must see to bring commands in. */
  readonly visibleFolders: readonly string[]
  /** Where a command writes its id. */
  readonly commandProcsFiles: readonly string[]
  /** Where the keeper's own id is written; null where it may stay where it is. */
  readonly agentProcsFile: string | null
}

/** Groups, as they can be made here. */
export interface ControlGroups {
  /** The version of the kernel's interface; null where no groups can be made. */
  readonly version: 1 | 2 | null
  /** What they hold. */
  readonly controllers: ReadonlySet<Controller>
  readonly create: (
    id: string,
    limits: SandboxLimits,
    uid: number | null,
  ) => Promise<BoxControlGroups>
  /** All boxes that there are groups of, with their folders. */
  readonly listExisting: () => Promise<ReadonlyMap<string, readonly string[]>>
}

const EMPTY_CONTROL_GROUPS: BoxControlGroups = {
  folders: [],
  visibleFolders: [],
  commandProcsFiles: [],
  agentProcsFile: null,
}

/** No groups at all. */
export const noControlGroups: ControlGroups = {
  version: null,
  controllers: new Set<Controller>(),
  create: async () => EMPTY_CONTROL_GROUPS,
  listExisting: async () => new Map(),
}

/** What the kernel calls a limit, and its value. */
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
/** Kernels that do not count swap do not have these. */
const OPTIONAL_FILES = new Set(["memory.memsw.limit_in_bytes", "memory.swap.max"])

/** The groups that can be made here: in a folder at the root of whichever tree there is, which only root may make. */
export async function findControlGroups(runDir: string): Promise<ControlGroups> {
  const own = `${createHash("sha256").update(runDir).digest("hex").slice(0, 12)}-`
  const { unified, controllers } = await findMounts()
  if (controllers.memory !== undefined) return controlGroupsV1(controllers, own)
  return unified === null ? noControlGroups : controlGroupsV2(join(unified, BOXES_FOLDER), own)
}

type ControllerMounts = Partial<Record<Controller, string>>

/** Where the trees of groups are mounted. */
async function findMounts(): Promise<{ unified: string | null; controllers: ControllerMounts }> {
  const found: { unified: string | null; controllers: ControllerMounts } = {
    unified: null,
    controllers: {},
  }
  for (const line of (await readFile("/proc/self/mountinfo", "utf8")).split("\n")) {
    const [before = "", after = ""] = line.split(" - ")
    const [type, , options = ""] = after.split(" ")
    const place = before.split(" ")[4] ?? ""
    if (type === "cgroup2") found.unified = place
    if (type !== "cgroup") continue
    for (const controller of CONTROLLERS) {
      if (options.split(",").includes(controller)) found.controllers[controller] = place
    }
  }
  return found
}

/** Whether a file or a folder could be written, which is not everybody's right. */
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

/** Whether this folder is there, and groups may be made in it: another user's may be in the way. */
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

/** The first version: a tree for each kind of limit. Whoever owns its list may bring itself in. */
async function controlGroupsV1(mounted: ControllerMounts, own: string): Promise<ControlGroups> {
  const trees = new Map<Controller, string>()
  for (const controller of CONTROLLERS) {
    const place = mounted[controller]
    const tree = place === undefined ? null : join(place, BOXES_FOLDER)
    if (tree !== null && (await makeFolder(tree))) trees.set(controller, tree)
  }
  if (trees.size === 0) return noControlGroups
  return {
    version: 1,
    controllers: new Set(trees.keys()),
    create: async (id, limits, uid) => {
      const folders: string[] = []
      for (const [controller, tree] of trees) {
        const folder = join(tree, own + id)
        await mkdir(folder, { recursive: true })
        await setLimits(folder, limitFilesV1(limits)[controller])
        await changeOwner(uid, [join(folder, "cgroup.procs")])
        folders.push(folder)
      }
      const commandProcsFiles = folders.map((folder) => join(folder, "cgroup.procs"))
      return { folders, visibleFolders: folders, commandProcsFiles, agentProcsFile: null }
    },
    listExisting: () => listGroupsIn([...trees.values()], own, () => []),
  }
}

/**
 * The second version: one tree. Who is in a part of it that is a box's own may move within that part,
 * so the keeper is put there, beside the group of its commands, and is not held to their limits.
 */
async function controlGroupsV2(tree: string, own: string): Promise<ControlGroups> {
  if (!(await makeFolder(tree))) return noControlGroups
  for (const folder of [dirname(tree), tree]) await enableControllers(folder)
  const allowed = (await readFile(join(tree, "cgroup.subtree_control"), "utf8")).split(/\s/)
  const controllers = new Set(CONTROLLERS.filter((controller) => allowed.includes(controller)))
  const partsOf = (folder: string) => [join(folder, "keeper"), join(folder, "work")] as const
  return {
    version: 2,
    controllers,
    create: async (id, limits, uid) => {
      const folder = join(tree, own + id)
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
    listExisting: () => listGroupsIn([tree], own, partsOf),
  }
}

/** Has the groups in a folder hold as much as may be held there. */
async function enableControllers(folder: string): Promise<void> {
  for (const controller of CONTROLLERS) {
    await tryWrite(writeFile(join(folder, "cgroup.subtree_control"), `+${controller}`))
  }
}

/** Every box of this run folder that has a group in one of these trees. */
async function listGroupsIn(
  trees: readonly string[],
  own: string,
  partsOf: (folder: string) => readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>()
  for (const tree of trees) {
    for (const entry of await readdir(tree, { withFileTypes: true })) {
      if (!entry.isDirectory() || !entry.name.startsWith(own)) continue
      const [folder, id] = [join(tree, entry.name), entry.name.slice(own.length)]
      found.set(id, [...(found.get(id) ?? []), folder, ...partsOf(folder)])
    }
  }
  return found
}

/** Takes groups away once they are empty; those that are not there: nothing. */
export async function removeControlGroups(folders: readonly string[], pacer: Pacer): Promise<void> {
  for (const folder of folders.toReversed()) {
    while (!(await tryRemove(folder))) await pacer.pause(2)
  }
}

/** Whether a group is gone; it cannot go while a process in it is still about to end. */
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

/** How much a box may use. */
export interface SandboxLimits {
  readonly memoryBytes: number
  /** Processors, as a share of one. */
  readonly cores: number
  readonly processes: number
  /** Workspace, home and temporary files together. */
  readonly diskBytes: number
  readonly fileBytes: number
  readonly openFiles: number
  readonly sharedMemoryBytes: number
}

/** The limits of each size. */
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

/** How many at once in a box of any size, and how much is kept of what those in the background write. */
export const PROCESS_LIMITS = {
  commands: 64,
  background: 32,
  logBytes: 1_000_000,
  keptProcesses: 200,
} as const
