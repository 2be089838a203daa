/** A file that appears whole or not at all: written beside its place, then renamed. */
import { randomBytes } from "node:crypto"
import { rmSync } from "node:fs"
import { open, readdir, realpath, rename, rm, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"

/** Where so long nothing was written, whoever wrote was killed: nobody goes on with it. */
const LEFTOVER_AFTER_MS = 12 * 3_600_000

/** A file that is being written. */
export interface OutFile {
  readonly write: (chunk: string | Uint8Array) => Promise<void>
  /**
   * Flushes everything to the disk and gives the file its name.
   *
   * @param signal aborted where it shall not get it: up to that moment nothing is seen of the file
   * @throws CannotWrite, and the signal's reason
   */
  readonly commit: (signal?: AbortSignal) => Promise<void>
  /** Removes what was written; what stood there before stays. After `keep` it does nothing. */
  readonly discard: () => Promise<void>
}

/** The file cannot be written: the sentence names it and the reason. */
export class CannotWrite extends Error {
  override readonly name = "CannotWrite"
}

/**
 * Begins to write a file that shall stand at `path`, with the mode of the one that stands there. A
 * secret one is its owner's alone to read. Where this process exits in the middle of it what was
 * written is removed as well; what one that was killed had written is, by the next of the same name.
 *
 * @throws CannotWrite
 */
export async function openOutFile(path: string, isSecret = false): Promise<OutFile> {
  const { target, mode: usual } = await targetOf(path)
  const mode = isSecret ? 0o600 : usual
  const suffix = randomBytes(6).toString("hex")
  const begins = `.${basename(target).slice(0, 100)}.`
  const temporary = join(dirname(target), `${begins}${suffix}.tmp`)
  const remove = () => rmSync(temporary, { force: true })
  process.on("exit", remove)
  const file = await explainFailure(path, () => open(temporary, "wx", mode)).catch(
    (error: unknown) => {
      process.off("exit", remove)
      throw error
    },
  )
  await removeLeftovers(dirname(target), begins)
  let isOpen = true
  let isKept = false
  const close = async () => {
    if (isOpen) await file.close()
    isOpen = false
  }
  return {
    write: async (chunk) => {
      await explainFailure(path, () => file.writeFile(chunk))
    },
    commit: async (signal) => {
      await explainFailure(path, async () => {
        await file.sync()
        await close()
      })
      signal?.throwIfAborted()
      await explainFailure(path, async () => {
        await rename(temporary, target)
        isKept = true
        process.off("exit", remove)
        await syncFolder(dirname(target))
      })
    },
    discard: async () => {
      if (isKept) return
      await close()
      await rm(temporary, { force: true })
      process.off("exit", remove)
    },
  }
}

/** Removes what killed processes wrote: it may be as secret as the whole file, and as large. */
async function removeLeftovers(folder: string, begins: string): Promise<void> {
  const before = Date.now() - LEFTOVER_AFTER_MS
  for (const name of (await readdir(folder).catch(ignoreMissing)) ?? []) {
    if (!name.startsWith(begins) || !/^[0-9a-f]{12}\.tmp$/.test(name.slice(begins.length))) continue
    const path = join(folder, name)
    const found = await stat(path).catch(ignoreMissing)
    // Another user's is theirs to remove.
    if (found !== null && found.mtimeMs < before)
      await rm(path, { force: true }).catch(ignoreMissing)
  }
}

/** Null where a file is gone, or is not ours: nothing that is to be written depends on it. */
function ignoreMissing(error: unknown): null {
  if (["ENOENT", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) return null
  throw error
}

/** Where the file goes, behind links, and its mode. @throws CannotWrite where no file can stand */
async function targetOf(path: string): Promise<{ target: string; mode: number }> {
  return explainFailure(path, async () => {
    const found = await stat(path).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return null
      throw error
    })
    if (found === null) return { target: path, mode: 0o666 }
    if (!found.isFile()) {
      throw new CannotWrite(`${path} is there and is no file: name another one.`)
    }
    return { target: await realpath(path), mode: found.mode & 0o777 }
  })
}

/** A rename is safe once its folder is on the disk; not every file system can do that. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } catch (error) {
    if (!["EINVAL", "EPERM", "ENOTSUP"].includes(codeOf(error) ?? "")) throw error
  } finally {
    await handle.close()
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: "its folder is a file",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENAMETOOLONG: "its name is too long",
}

async function explainFailure<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (error instanceof CannotWrite || code === undefined) throw error
    const reason = REASONS[code] ?? (await missingFolder(path, code)) ?? systemReason(error, code)
    throw new CannotWrite(`${path} cannot be written: ${reason}.`, { cause: error })
  }
}

/** Whether its folder is what is missing: the system says the same of places that hold no files. */
async function missingFolder(path: string, code: string): Promise<string | null> {
  if (code !== "ENOENT") return null
  const folder = await stat(dirname(path)).catch((error: unknown) => error)
  return folder instanceof Error ? "its folder does not exist" : null
}

/** What the system said, as in "no such file or directory (ENOENT)". */
function systemReason(error: unknown, code: string): string {
  const [, words] = /^[A-Z0-9]+: ([^,]+)/.exec(error instanceof Error ? error.message : "") ?? []
  return words === undefined ? code : `the system says "${words}" (${code})`
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined
}
