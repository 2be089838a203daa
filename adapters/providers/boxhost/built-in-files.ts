/** The files of a built-in box, and the scripts of `files.ts` played over them. */
import { posix } from "node:path"
import type { Command, FixedScript, MemoryFile, MemoryFiles } from "./built-in-command.ts"
import { inputOf } from "./built-in-command.ts"
import { EXITS, LIST, READ, REMOVE, WRITE } from "./files.ts"
import { WORKSPACE } from "./port.ts"

const NO_BYTES = Buffer.alloc(0)

/** The files of a box that has just begun: some folders. */
export function newFiles(now: number): MemoryFiles {
  const files: MemoryFiles = new Map()
  for (const path of [WORKSPACE, "/tmp"]) makeFolder(files, path, now)
  return files
}

/** The absolute path that a path is in a folder. */
export const pathIn = (cwd: string, path: string): string => posix.resolve(cwd, path)

/** Whether a folder is at a path. */
export const isFolder = (files: MemoryFiles, path: string): boolean =>
  files.get(path)?.type === "directory"

/** Makes a folder, with those above it; whether there is one then. */
export function makeFolder(files: MemoryFiles, path: string, now: number): boolean {
  const found = files.get(path)
  if (found !== undefined) return found.type === "directory"
  if (path !== "/" && !makeFolder(files, posix.dirname(path), now)) return false
  const folder = { type: "directory" as const, bytes: NO_BYTES, isExecutable: false }
  files.set(path, { ...folder, modifiedAt: now })
  return true
}

/** Makes a file or replaces one, which keeps its mode. */
export function putFile(files: MemoryFiles, path: string, bytes: Buffer, now: number): void {
  const isExecutable = files.get(path)?.isExecutable ?? false
  files.set(path, { type: "file", bytes, isExecutable, modifiedAt: now })
}

/** What is in a folder, by names; with `deep` also what is below. */
export function* inFolder(
  files: MemoryFiles,
  folder: string,
  deep = false,
): Generator<readonly [name: string, file: MemoryFile]> {
  const before = folder === "/" ? "/" : `${folder}/`
  for (const [path, file] of files) {
    const name = path.slice(before.length)
    if (path.startsWith(before) && name !== "" && (deep || !name.includes("/"))) yield [name, file]
  }
}

const list: FixedScript = async ({ files, cwd, out }, [path = ""]) => {
  const folder = pathIn(cwd, path)
  if (!files.has(folder)) return EXITS.missing
  if (!isFolder(files, folder)) return EXITS.otherKind
  const rows = [...inFolder(files, folder)].map(([name, { type, bytes, modifiedAt }]) => {
    const letter = type === "file" ? "f" : "d"
    return `${letter}\t${bytes.length}\t${(modifiedAt / 1_000).toFixed(3)}\t${name}\0`
  })
  out(Buffer.from(rows.join("")))
  return 0
}

/** The file at a path; else what a script exits with. */
function fileAt({ files, cwd }: Command, path: string): MemoryFile | number {
  const found = files.get(pathIn(cwd, path))
  if (found === undefined) return EXITS.missing
  return found.type === "directory" ? EXITS.folder : found
}

const read: FixedScript = async (command, [path = "", most]) => {
  const found = fileAt(command, path)
  if (typeof found === "number") return found
  command.out(found.bytes.subarray(0, Number(most)))
  return 0
}

const write: FixedScript = async (command, [path = "", length]) => {
  const { files, cwd, now } = command
  const bytes = await inputOf(command)
  const found = fileAt(command, path)
  if (found === EXITS.folder || path.endsWith("/")) return EXITS.folder
  const whole = pathIn(cwd, path)
  if (!makeFolder(files, posix.dirname(whole), now())) return EXITS.denied
  if (bytes.length !== Number(length)) return EXITS.notWritten
  putFile(files, whole, bytes, now())
  return 0
}

const remove: FixedScript = async (command, [path = ""]) => {
  const found = fileAt(command, path)
  if (typeof found === "number") return found
  command.files.delete(pathIn(command.cwd, path))
  return 0
}

/** The scripts of files, by their text. */
export const FILE_SCRIPTS: readonly (readonly [script: string, played: FixedScript])[] = [
  [LIST, list],
  [READ, read],
  [WRITE, write],
  [REMOVE, remove],
]
