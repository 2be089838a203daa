/**
 * The folder with the records of all boxes. All programs of an installation on this machine share
 * it, and it is the source of truth: a box belongs to the program that created its record, and is
 * gone when the record is.
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

/** Longest path of a socket, bytes. */
const MAX_SOCKET_PATH_BYTES = 107

const processSchema = z.strictObject({ pid: z.int().positive(), startedAt: z.string() })

const boxRecordSchema = z.strictObject({
  /** The program that launches or launched it. */
  launcher: processSchema,
  /** Its number among the boxes of the machine. */
  slot: z.int().nonnegative(),
  /** The box's own user; null if boxes use the program's user. */
  uid: z.int().positive().nullable(),
  size: z.enum(["small", "medium", "large", "xlarge", "build", "preview"]),
  /** Folders of its control groups. */
  groups: z.array(z.string()),
  /**
   * Its processes so far: the outer sandbox, the agent, the first process in it, the network's
   * program.
   */
  processes: z.array(processSchema),
  keeper: processSchema.nullable(),
  /** Whether the launch has completed. */
  isReady: z.boolean(),
})

export type BoxRecord = z.infer<typeof boxRecordSchema>

export interface BoxPaths {
  /** The box's own folder; its agent may write there. */
  readonly folder: string
  readonly disk: string
  /** Mount point of its volume during the launch. */
  readonly volume: string
  readonly diskImage: string
  readonly log: string
  readonly agentSocket: string
  readonly launchSocket: string
  /** A pipe that the agent holds open, and a folder of pipes for its commands. */
  readonly exitPipe: string
  readonly pipesFolder: string
}

export interface RunFolder {
  readonly path: string
  readonly programsFolder: string
  readonly pathsOf: (id: string) => BoxPaths
  /** All boxes with records, by name. */
  readonly listNames: () => Promise<readonly string[]>
  readonly read: (id: string) => Promise<BoxRecord | null>
  /**
   * Creates the record of a box with a slot, unless there is a record or all slots are taken.
   *
   * @param isLasting whether the box should get the same slot each time, if it is free
   */
  readonly claim: (
    id: string,
    size: BoxRecord["size"],
    isLasting: boolean,
  ) => Promise<BoxRecord | "taken" | "full">
  readonly write: (id: string, record: BoxRecord) => Promise<void>
  /** Claims a box in order to end it; null if another program does, or there is none. */
  readonly claimForEnding: (id: string) => Promise<BoxRecord | null>
  /** Whether a program is ending the box. */
  readonly isEnding: (id: string) => Promise<boolean>
  /** Claims the boxes whose ending program has died; returns their names. */
  readonly reclaimAbandonedEndings: () => Promise<readonly string[]>
  /** Removes temporary files of programs that have died. */
  readonly removeStaleWrites: () => Promise<void>
  /** Removes the record of a claimed box. */
  readonly remove: (id: string) => Promise<void>
}

/** Opens the folder and creates it if missing. @throws RangeError if its path is too long */
export async function openRunFolder(
  path: string,
  { maxBoxes, firstUid }: { maxBoxes: number; firstUid: number | null },
): Promise<RunFolder> {
  const inside = (...names: readonly string[]) => join(path, ...names)
  const longest = Buffer.byteLength(inside("boxes", `box_${"x".repeat(32)}`, "keeper.sock"))
  if (longest > MAX_SOCKET_PATH_BYTES) {
    throw new RangeError(
      `The path of a socket in the run folder has ${longest} bytes; the limit is ${MAX_SOCKET_PATH_BYTES}. Use a shorter path than ${path}.`,
    )
  }
  await mkdir(path, { recursive: true })
  // Boxes have different users; each sees only that the others exist.
  await chmod(path, 0o711)
  for (const [name, mode] of [
    ["programs", 0o755] as const,
    ["boxes", 0o711] as const,
    ...(["records", "slots", "images", "logs"] as const).map((closed) => [closed, 0o700] as const),
  ]) {
    await mkdir(inside(name), { recursive: true })
    await chmod(inside(name), mode)
  }
  const ownProcess = await identifyProcess(process.pid)
  if (ownProcess === null) throw new Error("/proc does not show this process")
  const records = openRecords(inside("records"), ownProcess)
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
        launcher: ownProcess,
        size,
        groups: [],
        processes: [],
        keeper: null,
        isReady: false,
      }
      if (!(await records.make(id, { ...blank, slot: 0, uid: null }))) return "taken"
      const slot = await claimSlot(inside("slots"), id, { maxBoxes, isLasting })
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

/**
 * Takes the first free slot for a box, starting at one derived from its name if it should last;
 * null if none is free.
 */
async function claimSlot(
  slots: string,
  id: string,
  { maxBoxes, isLasting }: { maxBoxes: number; isLasting: boolean },
): Promise<number | null> {
  const first = isLasting ? createHash("sha256").update(id).digest().readUInt32BE() : 0
  for (let offset = 0; offset < maxBoxes; offset += 1) {
    const slot = (first + offset) % maxBoxes
    try {
      await symlink(id, join(slots, String(slot)))
      return slot
    } catch (error) {
      if (systemErrorCodeOf(error) !== "EEXIST") throw error
    }
  }
  return null
}

/** Releases the slots of a box, also one that its record does not contain yet. */
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

/**
 * Opens the records, one file each. A record of a box that is being ended has the ending program in
 * its name.
 */
function openRecords(folder: string, ownProcess: ProcessReference) {
  const pathOf = (id: string) => join(folder, `${id}.json`)
  const endingPath = (id: string, by: ProcessReference) =>
    join(folder, `${id}.ending-${by.pid}-${by.startedAt}`)

  const readRecord = async (path: string): Promise<BoxRecord | null> => {
    try {
      return boxRecordSchema.parse(JSON.parse(await readFile(path, "utf8")))
    } catch (error) {
      if (isNotFoundError(error)) return null
      throw error
    }
  }
  const writeTemporary = async (record: BoxRecord): Promise<string> => {
    const path = join(folder, `.${ownProcess.pid}-${ownProcess.startedAt}-${randomUUID()}`)
    await writeFile(path, JSON.stringify(record), { mode: 0o600 })
    return path
  }

  return {
    listNames: async () =>
      (await readdir(folder)).flatMap((name) => /^(\w+)\.json$/.exec(name)?.[1] ?? []),
    read: (id: string) => readRecord(pathOf(id)),
    write: async (id: string, record: BoxRecord) =>
      rename(await writeTemporary(record), pathOf(id)),
    remove: async (id: string) => rm(pathOf(id), { force: true }),
    /** Whether this call created it. */
    make: async (id: string, record: BoxRecord): Promise<boolean> => {
      const path = await writeTemporary(record)
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
        await rename(pathOf(id), endingPath(id, ownProcess))
      } catch (error) {
        if (isNotFoundError(error)) return null
        throw error
      }
      return readRecord(endingPath(id, ownProcess))
    },
    isEnding: async (id: string) => (await listEndings(folder)).some((ending) => ending.id === id),
    reclaimAbandonedEndings: async () => {
      const reclaimed: string[] = []
      for (const { id, by } of await listEndings(folder)) {
        if (await isRunning(by)) continue
        try {
          await rename(endingPath(id, by), pathOf(id))
          reclaimed.push(id)
        } catch (error) {
          if (!isNotFoundError(error)) throw error
        }
      }
      return reclaimed
    },
    removeStaleWrites: () => removeStaleWrites(folder),
    removeEnding: async (id: string) => rm(endingPath(id, ownProcess), { force: true }),
  }
}

/** The records of boxes that are being ended, or whose ending was interrupted. */
async function listEndings(
  folder: string,
): Promise<readonly { readonly id: string; readonly by: ProcessReference }[]> {
  return (await readdir(folder)).flatMap((name) => {
    const [, id, pid, startedAt] = /^(\w+)\.ending-(\d+)-(\d+)$/.exec(name) ?? []
    if (id === undefined || startedAt === undefined) return []
    return [{ id, by: { pid: Number(pid), startedAt } }]
  })
}

/** Removes temporary files of programs that have died. */
async function removeStaleWrites(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, startedAt] = /^\.(\d+)-(\d+)-/.exec(name) ?? []
    if (pid === undefined || startedAt === undefined) continue
    if (await isRunning({ pid: Number(pid), startedAt })) continue
    await rm(join(folder, name), { force: true })
  }
}
