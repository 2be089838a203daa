/**
 * The data folder of a process, with the embedded PostgreSQL, the admin socket and the address of
 * the running server. One process at a time holds it.
 */
import { createHash, randomBytes } from "node:crypto"
import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { z } from "zod"
import { StartupFault, withStartupFaults } from "../startup/port.ts"
import type { RunningServer } from "./running-server.ts"
import { parseJson } from "./running-server.ts"

const FOLDER_FORMAT = 1
/** The system's limit for the path of a Unix socket. */
const MAX_SOCKET_PATH_BYTES = 107

const FolderIdentity = z.object({ form: z.int(), folderId: z.string() })
export interface DataFolder {
  readonly path: string
  /** Random, created with the folder: an admin socket with another id does not belong to it. */
  readonly folderId: string
  readonly socketPath: string
}

/** Opens the folder, and creates it if it is missing. @throws StartupFault */
export async function openDataFolder(dataDir: string): Promise<DataFolder> {
  return withStartupFaults(dataDir, async () => {
    await createFolder(dataDir)
    const path = await realpath(dataDir)
    const { folderId } = (await readIdentity(path)) ?? (await createIdentity(path))
    const socketPath = socketPathOf(path, folderId)
    await createFolder(dirname(socketPath))
    return { path, folderId, socketPath }
  })
}

/**
 * Creates a folder and its parents, mode 0700. `mkdir` with `recursive` would loop forever on file
 * systems that allow no folders (`/proc`).
 */
async function createFolder(path: string): Promise<void> {
  const failure = await mkdir(path, { mode: 0o700 }).then(
    () => null,
    (error: NodeJS.ErrnoException) => error,
  )
  if (failure === null) return
  if (failure.code === "EEXIST" && (await stat(path)).isDirectory()) return
  if (failure.code !== "ENOENT" || dirname(path) === path) throw failure
  const parent = await stat(dirname(path)).catch(() => null)
  if (parent !== null) {
    const fix = "Set LEDGER_DATA_DIR to another folder."
    throw new StartupFault(
      `The folder ${path} cannot be created in ${dirname(path)}. ${fix}`,
      failure,
    )
  }
  await createFolder(dirname(path))
  await createFolder(path)
}

/** Checks whether this version can use the folder; a missing one is fine. @throws StartupFault */
export async function checkDataFolder(dataDir: string): Promise<void> {
  await withStartupFaults(dataDir, () => readIdentity(dataDir))
}

/** Reads the folder's identity; null if it has none. @throws StartupFault if this version cannot use it */
async function readIdentity(path: string): Promise<z.infer<typeof FolderIdentity> | null> {
  const file = join(path, "folder.json")
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null
    throw error
  })
  if (text === null) return null
  const identity = parseIdentity(file, text)
  if (identity.form <= FOLDER_FORMAT) return identity
  throw new StartupFault(
    `${path} was created by a newer version of company-ledger. Start that version, ` +
      "or set LEDGER_DATA_DIR to another folder.",
  )
}

async function createIdentity(path: string): Promise<z.infer<typeof FolderIdentity>> {
  const identity = { form: FOLDER_FORMAT, folderId: randomBytes(12).toString("hex") }
  await writeFileAtomically(join(path, "folder.json"), JSON.stringify(identity))
  return identity
}

/** @throws StartupFault if the file is corrupt or has an unknown format */
function parseIdentity(file: string, text: string): z.infer<typeof FolderIdentity> {
  const parsed = FolderIdentity.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new StartupFault(
    `${file} is corrupt or was created by another version of company-ledger. ` +
      "Start that version, restore the file, or set LEDGER_DATA_DIR to another folder.",
  )
}

function socketPathOf(path: string, folderId: string): string {
  const inside = join(path, "admin.sock")
  if (Buffer.byteLength(inside) <= MAX_SOCKET_PATH_BYTES) return inside
  return join(tmpdir(), `company-ledger-${folderId}`, "admin.sock")
}

async function writeFileAtomically(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.new`
  await writeFile(temporary, text, { mode: 0o600 })
  await rename(temporary, file)
}

/** Writes the address of the folder's server to `server.json`. */
export async function writeRunningServer(folder: DataFolder, server: RunningServer): Promise<void> {
  await writeFileAtomically(join(folder.path, "server.json"), `${JSON.stringify(server)}\n`)
}

/** Removes `server.json`. */
export async function removeRunningServer(folder: DataFolder): Promise<void> {
  await rm(join(folder.path, "server.json"), { force: true })
}

/** The exclusive use of a data folder. */
export interface FolderLock {
  readonly release: () => Promise<void>
}

/**
 * Locks the folder for this process; null if another process holds it. The lock is a socket in the
 * kernel's abstract namespace (on other systems a named pipe or a file), which ends with its
 * process, so no stale lock remains.
 */
export async function lockFolder(folder: DataFolder): Promise<FolderLock | null> {
  const server = createServer((socket) => socket.destroy())
  const name = createHash("sha256").update(folder.path).digest("hex").slice(0, 32)
  const address = lockAddress(name)
  const isLocked = await new Promise<boolean>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(false)
      else reject(error)
    })
    server.listen({ path: address }, () => resolve(true))
  })
  if (!isLocked) return null
  server.unref()
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}

function lockAddress(name: string): string {
  if (process.platform === "linux") return `\0company-ledger-${name}`
  if (process.platform === "win32") return `\\\\.\\pipe\\company-ledger-${name}`
  return join(tmpdir(), `company-ledger-${name}.lock`)
}
