/** The files of a simulated box, and its answers to the scripts of `files.ts` and `code-scripts.ts`. */
import { posix } from "node:path"
import { BRING, RECORD } from "./code-scripts.ts"
import { EXITS, LIST, READ, REMOVE, WRITE } from "./files.ts"
import { WORKSPACE } from "./port.ts"

/** A file of a simulated box, or a folder, which has no bytes. */
interface MemoryFile {
  readonly bytes: Buffer | null
  /** UTC milliseconds. */
  readonly modifiedAt: number
}

/** The files of a simulated box by absolute path. */
export type MemoryFiles = Map<string, MemoryFile>

/** What a script of ours reads and writes in a simulated box. */
interface ScriptInput {
  readonly files: MemoryFiles
  /** The script's arguments; the first one of a file script is an absolute path. */
  readonly args: readonly string[]
  readonly stdin: Buffer
  /** UTC milliseconds. */
  readonly now: number
}

/** A script's output, or its exit code where it refuses. */
type Script = (input: ScriptInput) => Buffer | number

const NOTHING = Buffer.alloc(0)

/** The files of a new box: its empty folders. */
export function newFiles(now: number): MemoryFiles {
  const files: MemoryFiles = new Map()
  for (const path of [WORKSPACE, "/tmp"]) makeFolder(files, path, now)
  return files
}

/** Whether a path of a box is a folder. */
export const isFolder = (files: MemoryFiles, path: string): boolean =>
  files.get(path)?.bytes === null

/** Makes a folder and those above it; false where a file is in the way. */
function makeFolder(files: MemoryFiles, path: string, now: number): boolean {
  if (files.has(path)) return isFolder(files, path)
  if (path !== "/" && !makeFolder(files, posix.dirname(path), now)) return false
  files.set(path, { bytes: null, modifiedAt: now })
  return true
}

/** The bytes of a file, or the exit code of a script that finds none. */
function bytesAt({ files, args: [path = ""] }: ScriptInput): Buffer | number {
  const found = files.get(posix.resolve(path))
  return found === undefined ? EXITS.missing : (found.bytes ?? EXITS.folder)
}

const list: Script = ({ files, args: [path = ""] }) => {
  const folder = posix.resolve(path)
  if (!files.has(folder)) return EXITS.missing
  if (!isFolder(files, folder)) return EXITS.otherKind
  const rows = [...files].flatMap(([at, { bytes, modifiedAt }]) => {
    if (at === folder || posix.dirname(at) !== folder) return []
    const seconds = (modifiedAt / 1_000).toFixed(3)
    return `${bytes === null ? "d" : "f"}\t${bytes?.length ?? 0}\t${seconds}\t${posix.basename(at)}\0`
  })
  return Buffer.from(rows.join(""))
}

const read: Script = (input) => {
  const found = bytesAt(input)
  return typeof found === "number" ? found : found.subarray(0, Number(input.args[1]))
}

const write: Script = (input) => {
  const { files, args, stdin, now } = input
  const [path = "", length] = args
  if (bytesAt(input) === EXITS.folder || path.endsWith("/")) return EXITS.folder
  const whole = posix.resolve(path)
  if (!makeFolder(files, posix.dirname(whole), now)) return EXITS.denied
  if (stdin.length !== Number(length)) return EXITS.notWritten
  files.set(whole, { bytes: stdin, modifiedAt: now })
  return NOTHING
}

const remove: Script = (input) => {
  const found = bytesAt(input)
  if (typeof found === "number") return found
  input.files.delete(posix.resolve(input.args[0] ?? ""))
  return NOTHING
}

/** The scripts that a simulated box knows, by their text. It has no git: code it is brought is dropped, and none comes out. */
export const SCRIPTS: ReadonlyMap<string, Script> = new Map([
  [LIST, list],
  [READ, read],
  [WRITE, write],
  [REMOVE, remove],
  [BRING, () => NOTHING],
  [RECORD, () => NOTHING],
])
