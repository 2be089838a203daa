/** An output file that appears completely or not at all: written to a temporary file, then renamed. */
import { randomBytes } from "node:crypto"
import { rmSync } from "node:fs"
import { open, readdir, realpath, rename, rm, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"

/** A temporary file that is untouched for this long was left by a killed process. */
const LEFTOVER_AFTER_MS = 12 * 3_600_000

export interface OutFile {
  readonly write: (chunk: string | Uint8Array) => Promise<void>
  /**
   * Flushes everything to the disk and renames the file to its path.
   *
   * @param signal aborted to prevent that; until the rename nothing of the file is visible
   * @throws CannotWrite, and the signal's reason
   */
  readonly commit: (signal?: AbortSignal) => Promise<void>
  /** Deletes the temporary file; an earlier file at the path stays. Does nothing after `commit`. */
  readonly discard: () => Promise<void>
}

/** The file cannot be written; the message gives its path and the reason. */
export class CannotWrite extends Error {
  override readonly name = "CannotWrite"
}

/**
 * Opens a file that will replace the one at `path`, with the mode of that one; only the owner can read a secret
 * one. If the process exits, the temporary file is deleted; that of a killed process is deleted by the next
 * write to the same path.
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

/** Deletes temporary files of killed processes, which may be secret or large. */
async function removeLeftovers(folder: string, begins: string): Promise<void> {
  const before = Date.now() - LEFTOVER_AFTER_MS
  for (const name of (await readdir(folder).catch(ignoreMissing)) ?? []) {
    if (!name.startsWith(begins) || !/^[0-9a-f]{12}\.tmp$/.test(name.slice(begins.length))) continue
    const path = join(folder, name)
    const found = await stat(path).catch(ignoreMissing)
    // Another user's file cannot be deleted.
    if (found !== null && found.mtimeMs < before)
      await rm(path, { force: true }).catch(ignoreMissing)
  }
}

/** Returns null if a file is gone or belongs to another user, which does not affect the output. */
function ignoreMissing(error: unknown): null {
  if (["ENOENT", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) return null
  throw error
}

/** Resolves links and returns the file's mode. @throws CannotWrite if no file can be there */
async function targetOf(path: string): Promise<{ target: string; mode: number }> {
  return explainFailure(path, async () => {
    const found = await stat(path).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return null
      throw error
    })
    if (found === null) return { target: path, mode: 0o666 }
    if (!found.isFile()) {
      throw new CannotWrite(`${path} exists and is not a file. Name another path.`)
    }
    return { target: await realpath(path), mode: found.mode & 0o777 }
  })
}

/** Flushes the folder, so that the rename survives a crash. Some file systems cannot do that. */
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

/** Whether the folder is missing: the system reports the same error for other causes. */
async function missingFolder(path: string, code: string): Promise<string | null> {
  if (code !== "ENOENT") return null
  const folder = await stat(dirname(path)).catch((error: unknown) => error)
  return folder instanceof Error ? "its folder does not exist" : null
}

/** Returns the system's message, such as "no such file or directory (ENOENT)". */
function systemReason(error: unknown, code: string): string {
  const [, words] = /^[A-Z0-9]+: ([^,]+)/.exec(error instanceof Error ? error.message : "") ?? []
  return words === undefined ? code : `the system says "${words}" (${code})`
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined
}
