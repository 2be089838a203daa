/**
 * The folder a process keeps its own things in: the embedded PostgreSQL, the admin socket, and who
 * is using it. One process at a time holds it.
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

/** The form of the folder that this version makes and reads. */
const FOLDER_FORMAT = 1
/** A Unix socket's path may have so many bytes. */
const MAX_SOCKET_PATH_BYTES = 107

const FolderIdentity = z.object({ form: z.int(), folderId: z.string() })
/** The data folder. */
export interface DataFolder {
  readonly path: string
  /** Random, made with the folder: an admin socket that says another one is not of this folder. */
  readonly folderId: string
  /** Where the admin socket of this folder is to be. */
  readonly socketPath: string
}

/** Opens the folder, made when missing. @throws StartupFault with what to do */
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
 * Makes a folder and those above it, mode 0700. Not by `mkdir`'s own recursion: that never ends
 * where a file system refuses to make anything (`/proc`).
 */
async function createFolder(path: string): Promise<void> {
  const made = await mkdir(path, { mode: 0o700 }).then(
    () => null,
    (error: NodeJS.ErrnoException) => error,
  )
  if (made === null) return
  if (made.code === "EEXIST" && (await stat(path)).isDirectory()) return
  if (made.code !== "ENOENT" || dirname(path) === path) throw made
  const above = await stat(dirname(path)).catch(() => null)
  if (above !== null) {
    const fix = "set LEDGER_DATA_DIR to another folder."
    throw new StartupFault(`The folder ${path} cannot be made in ${dirname(path)}: ${fix}`, made)
  }
  await createFolder(dirname(path))
  await createFolder(path)
}

/**
 * Looks whether this version can use the folder; one that is not there it could make.
 *
 * @throws StartupFault with what to do
 */
export async function checkDataFolder(dataDir: string): Promise<void> {
  await withStartupFaults(dataDir, () => readIdentity(dataDir))
}

/** Who the folder is; null where it does not say. @throws StartupFault where that is of no use here */
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
    `${path} was made by a newer version of company-ledger: start it with that version, ` +
      "or set LEDGER_DATA_DIR to another folder.",
  )
}

async function createIdentity(path: string): Promise<z.infer<typeof FolderIdentity>> {
  const made = { form: FOLDER_FORMAT, folderId: randomBytes(12).toString("hex") }
  await writeFileAtomically(join(path, "folder.json"), JSON.stringify(made))
  return made
}

/** @throws StartupFault where the file is damaged, or of a form that says nothing else */
function parseIdentity(file: string, text: string): z.infer<typeof FolderIdentity> {
  const parsed = FolderIdentity.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new StartupFault(
    `${file} is damaged or was made by another version of company-ledger: ` +
      "start it with that version, restore the file, or set LEDGER_DATA_DIR to another folder.",
  )
}

function socketPathOf(path: string, folderId: string): string {
  const inside = join(path, "admin.sock")
  if (Buffer.byteLength(inside) <= MAX_SOCKET_PATH_BYTES) return inside
  return join(tmpdir(), `company-ledger-${folderId}`, "admin.sock")
}

/** Writes a file so that a reader finds the old one or the new one, never half of it. */
async function writeFileAtomically(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.new`
  await writeFile(temporary, text, { mode: 0o600 })
  await rename(temporary, file)
}

/** Says in `server.json` where the server of this folder is. */
export async function writeRunningServer(folder: DataFolder, server: RunningServer): Promise<void> {
  await writeFileAtomically(join(folder.path, "server.json"), `${JSON.stringify(server)}\n`)
}

/** Takes `server.json` away. */
export async function removeRunningServer(folder: DataFolder): Promise<void> {
  await rm(join(folder.path, "server.json"), { force: true })
}

/** The hold on a folder. */
export interface FolderLock {
  readonly release: () => Promise<void>
}

/**
 * Holds the folder for this process; null where another one does. The hold is a socket of the
 * kernel's abstract name space (elsewhere: a named pipe or a file), which ends with its process
 * however that ends, so there is nothing stale to clean up.
 */
export async function lockFolder(folder: DataFolder): Promise<FolderLock | null> {
  const server = createServer((socket) => socket.destroy())
  const name = createHash("sha256").update(folder.path).digest("hex").slice(0, 32)
  const address = lockAddress(name)
  const held = await new Promise<boolean>((done, fail) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") done(false)
      else fail(error)
    })
    server.listen({ path: address }, () => done(true))
  })
  if (!held) return null
  server.unref()
  return { release: () => new Promise((done) => server.close(() => done())) }
}

function lockAddress(name: string): string {
  if (process.platform === "linux") return `\0company-ledger-${name}`
  if (process.platform === "win32") return `\\\\.\\pipe\\company-ledger-${name}`
  return join(tmpdir(), `company-ledger-${name}.lock`)
}
