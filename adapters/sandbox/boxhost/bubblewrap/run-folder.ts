/**
 * The folder that says which boxes there are. All programs of an installation on a machine share it, and
 * it is the truth: a box is one's who made its record, and gone when its record is.
 */
import { createHash, randomUUID } from "node:crypto"
import {
  chmod,
  link,
  mkdir,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"
import type { ProcessReference } from "./programs.ts"
import { systemErrorCodeOf, isNotFoundError, identifyProcess, isRunning } from "./programs.ts"

/** The longest path of a socket, bytes. */
const MAX_SOCKET_PATH_BYTES = 107

const processSchema = z.strictObject({ pid: z.int().positive(), startedAt: z.string() })

const boxRecordSchema = z.strictObject({
  /** Which program launches it, or did. */
  launcher: processSchema,
  /** Its number among the boxes of the machine. */
  slot: z.int().nonnegative(),
  /** The user that is this box's alone; null where boxes are the user's who runs the program. */
  uid: z.int().positive().nullable(),
  size: z.enum(["small", "medium", "large", "xlarge", "build", "preview"]),
  /** Folders of control groups that were made for it. */
  groups: z.array(z.string()),
  /** What was started for it so far: the outer sandbox, its keeper, the first process in it, its network. */
  processes: z.array(processSchema),
  keeper: processSchema.nullable(),
  /** Whether it is no longer its launcher's. */
  isReady: z.boolean(),
})

/** What is known of a box. */
export type BoxRecord = z.infer<typeof boxRecordSchema>

/** Where a box's things lie. */
export interface BoxPaths {
  /** The box's own folder; its keeper may write there. */
  readonly folder: string
  readonly disk: string
  /** Where its volume is mounted while it is launched. */
  readonly volume: string
  readonly diskImage: string
  readonly log: string
  readonly agentSocket: string
  readonly launchSocket: string
  /** A pipe that the keeper holds open, and a folder of others for its commands. */
  readonly exitPipe: string
  readonly pipesFolder: string
}

/** The folder, opened. */
export interface RunFolder {
  readonly path: string
  readonly programsFolder: string
  readonly pathsOf: (id: string) => BoxPaths
  /** All boxes there are records of, by name. */
  readonly listNames: () => Promise<readonly string[]>
  readonly read: (id: string) => Promise<BoxRecord | null>
  /**
   * Makes the record of a box, with a slot: unless there is a record, or all slots are taken.
   *
   * @param isLasting whether it should have the same slot each time, where that is free
   */
  readonly claim: (
    id: string,
    size: BoxRecord["size"],
    isLasting: boolean,
  ) => Promise<BoxRecord | "taken" | "full">
  readonly write: (id: string, record: BoxRecord) => Promise<void>
  /** Takes a box for the one who ends it; null where another does, or there is none. */
  readonly claimForEnding: (id: string) => Promise<BoxRecord | null>
  /** Whether somebody is about to end it. */
  readonly isEnding: (id: string) => Promise<boolean>
  /** Takes boxes over whose ender has died; their names. */
  readonly reclaimAbandonedEndings: () => Promise<readonly string[]>
  /** Takes away what programs that have died were about to write. */
  readonly removeStaleWrites: () => Promise<void>
  /** Forgets a box that was taken. */
  readonly remove: (id: string) => Promise<void>
}

/** Opens the folder, and makes it where there is none. @throws RangeError where its path is too long */
export async function openRunFolder(
  path: string,
  { mostBoxes, firstUid }: { mostBoxes: number; firstUid: number | null },
): Promise<RunFolder> {
  const inside = (...names: readonly string[]) => join(path, ...names)
  const longest = Buffer.byteLength(inside("boxes", `box_${"x".repeat(32)}`, "keeper.sock"))
  if (longest > MAX_SOCKET_PATH_BYTES) {
    throw new RangeError(`The run folder's path is too long for sockets in it: ${path}`)
  }
  await mkdir(path, { recursive: true })
  // Each box is another user, and sees of the others that they are there.
  await chmod(path, 0o711)
  for (const [name, mode] of [
    ["programs", 0o755] as const,
    ["boxes", 0o711] as const,
    ...(["records", "slots", "images", "logs"] as const).map((closed) => [closed, 0o700] as const),
  ]) {
    await mkdir(inside(name), { recursive: true })
    await chmod(inside(name), mode)
  }
  const self = await identifyProcess(process.pid)
  if (self === null) throw new Error("/proc does not show this process")
  const records = openRecords(inside("records"), self)
  return {
    ...records,
    path,
    programsFolder: inside("programs"),
    pathsOf: (id) => ({
      folder: inside("boxes", id),
      disk: inside("boxes", id, "disk"),
      volume: inside("boxes", id, "volume"),
      diskImage: inside("images", id),
      log: inside("logs", id),
      agentSocket: inside("boxes", id, "keeper.sock"),
      launchSocket: inside("boxes", id, "launch.sock"),
      exitPipe: inside("boxes", id, "exit"),
      pipesFolder: inside("boxes", id, "pipes"),
    }),
    claim: async (id, size, isLasting) => {
      const blank = {
        launcher: self,
        size,
        groups: [],
        processes: [],
        keeper: null,
        isReady: false,
      }
      if (!(await records.make(id, { ...blank, slot: 0, uid: null }))) return "taken"
      const slot = await claimSlot(inside("slots"), id, { mostBoxes, isLasting })
      if (slot === null) {
        await records.remove(id)
        return "full"
      }
      const record = { ...blank, slot, uid: firstUid === null ? null : firstUid + slot }
      await records.write(id, record)
      return record
    },
    remove: async (id) => {
      await releaseSlots(inside("slots"), id)
      await records.removeEnding(id)
    },
  }
}

/** Takes the first free number for a box, from one that its name says where it should last; null: none. */
async function claimSlot(
  slots: string,
  id: string,
  { mostBoxes, isLasting }: { mostBoxes: number; isLasting: boolean },
): Promise<number | null> {
  const first = isLasting ? createHash("sha256").update(id).digest().readUInt32BE() : 0
  for (let tried = 0; tried < mostBoxes; tried += 1) {
    const slot = (first + tried) % mostBoxes
    try {
      await symlink(id, join(slots, String(slot)))
      return slot
    } catch (error) {
      if (systemErrorCodeOf(error) !== "EEXIST") throw error
    }
  }
  return null
}

/** Gives back whatever number a box has: also one that its record does not name yet. */
async function releaseSlots(slots: string, id: string): Promise<void> {
  for (const name of await readdir(slots)) {
    const path = join(slots, name)
    try {
      if ((await readlink(path)) === id) await unlink(path)
    } catch (error) {
      if (!isNotFoundError(error)) throw error
    }
  }
}

/** The records, a file each. One that is being ended has the name of who ends it in its own. */
function openRecords(folder: string, self: ProcessReference) {
  const pathOf = (id: string) => join(folder, `${id}.json`)
  const endingPath = (id: string, by: ProcessReference) =>
    join(folder, `${id}.ending-${by.pid}-${by.startedAt}`)

  const parsed = async (path: string): Promise<BoxRecord | null> => {
    try {
      return boxRecordSchema.parse(JSON.parse(await readFile(path, "utf8")))
    } catch (error) {
      if (isNotFoundError(error)) return null
      throw error
    }
  }
  const written = async (record: BoxRecord): Promise<string> => {
    const path = join(folder, `.${self.pid}-${self.startedAt}-${randomUUID()}`)
    await writeFile(path, JSON.stringify(record), { mode: 0o600 })
    return path
  }

  return {
    listNames: async () =>
      (await readdir(folder)).flatMap((name) => /^(\w+)\.json$/.exec(name)?.[1] ?? []),
    read: (id: string) => parsed(pathOf(id)),
    write: async (id: string, record: BoxRecord) => rename(await written(record), pathOf(id)),
    remove: async (id: string) => rm(pathOf(id), { force: true }),
    /** Whether this one made it. */
    make: async (id: string, record: BoxRecord): Promise<boolean> => {
      const path = await written(record)
      try {
        await link(path, pathOf(id))
        return true
      } catch (error) {
        if (systemErrorCodeOf(error) === "EEXIST") return false
        throw error
      } finally {
        await unlink(path)
      }
    },
    claimForEnding: async (id: string): Promise<BoxRecord | null> => {
      try {
        await rename(pathOf(id), endingPath(id, self))
      } catch (error) {
        if (isNotFoundError(error)) return null
        throw error
      }
      return parsed(endingPath(id, self))
    },
    isEnding: async (id: string) => (await listEndings(folder)).some((ending) => ending.id === id),
    reclaimAbandonedEndings: async () => {
      const taken: string[] = []
      for (const { id, by } of await listEndings(folder)) {
        if (await isRunning(by)) continue
        try {
          await rename(endingPath(id, by), pathOf(id))
          taken.push(id)
        } catch (error) {
          if (!isNotFoundError(error)) throw error
        }
      }
      return taken
    },
    removeStaleWrites: () => removeStaleWrites(folder),
    removeEnding: async (id: string) => rm(endingPath(id, self), { force: true }),
  }
}

/** The records that somebody is ending, or was. */
async function listEndings(
  folder: string,
): Promise<readonly { readonly id: string; readonly by: ProcessReference }[]> {
  return (await readdir(folder)).flatMap((name) => {
    const [, id, pid, startedAt] = /^(\w+)\.ending-(\d+)-(\d+)$/.exec(name) ?? []
    if (id === undefined || startedAt === undefined) return []
    return [{ id, by: { pid: Number(pid), startedAt } }]
  })
}

/** Takes records away that were half written by who has died. */
async function removeStaleWrites(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, startedAt] = /^\.(\d+)-(\d+)-/.exec(name) ?? []
    if (pid === undefined || startedAt === undefined) continue
    if (await isRunning({ pid: Number(pid), startedAt })) continue
    await rm(join(folder, name), { force: true })
  }
}
