/**
 * The files of a box, accessed from inside by four fixed scripts. Paths are only passed as
 * arguments, and no path is opened from outside, where a link in it would lead elsewhere.
 */
import { isUtf8 } from "node:buffer"
import type { BoxHandle, BoxFileEntry, BoxFileResult, BoxFileError, CommandResult } from "./port.ts"
import { WORKSPACE } from "./port.ts"
import { posix } from "node:path"
import { CHECKOUT_SCRIPT, COMMIT_SCRIPT } from "./code-scripts.ts"

/** Reading or writing a file of the maximum size takes a second; a blocking pipe is ended. */
const TIMEOUT_MS = 20_000
/** The names of more than 50,000 files. */
const MAX_LISTING_BYTES = 8 * 1024 * 1024

const EXIT_CODES = { folder: 20, missing: 21, otherKind: 22, denied: 23, notWritten: 24 } as const

/** Absolute, so that the scripts work without the repository's folder. */
const absolutePath = (path: string): string =>
  path.startsWith("/") ? path : `${WORKSPACE}/${path}`

/** Lists a folder: type, size, time and name of each entry, each ended by NUL. */
const LIST_SCRIPT = `p=$1
[ -e "$p" ] || exit 21
[ -d "$p" ] || exit 22
cd "$p" || exit 23
exec find . -mindepth 1 -maxdepth 1 -printf '%y\\t%s\\t%T@\\t%f\\0'`

/** Reads a limited number of bytes of a file. */
const READ_SCRIPT = `p=$1
[ -d "$p" ] && exit 20
[ -e "$p" ] || exit 21
[ -f "$p" ] || exit 22
[ -r "$p" ] || exit 23
exec head -c "$2" -- "$p"`

/**
 * Writes its input of `$2` bytes to a file, completely or not at all: a shorter input was cut off.
 * Missing folders are created, and a link is followed.
 */
const WRITE_SCRIPT = `p=$1
[ -d "$p" ] && exit 20
if [ -L "$p" ]; then
  p=$(readlink -f -- "$p" && printf x) || exit 23
  p=\${p%x}; p=\${p%?}
fi
[ ! -e "$p" ] || [ -f "$p" ] || exit 22
[ -n "\${p##*/}" ] || exit 20
d=\${p%/*}
mkdir -p -- "$d/" || exit 23
t=$(mktemp -- "$d/.write-XXXXXXXXXX") || exit 23
if cat > "$t" && [ "$(stat -c %s -- "$t")" = "$2" ] &&
  if [ -e "$p" ]; then chmod --reference="$p" -- "$t"; else chmod =rw -- "$t"; fi &&
  mv -fT -- "$t" "$p"
then exit 0; fi
rm -f -- "$t"
exit 24`

/** Removes a file or a link. */
const REMOVE_SCRIPT = `p=$1
[ -d "$p" ] && [ ! -L "$p" ] && exit 20
[ -e "$p" ] || [ -L "$p" ] || exit 21
[ -f "$p" ] || [ -L "$p" ] || exit 22
rm -f -- "$p" || exit 23`

/**
 * Lists a folder, sorted by name; `isCut` if it has more entries than returned. @throws errors of
 * `BoxHandle.run`
 */
export async function listBoxFolder(
  box: BoxHandle,
  path: string,
  { hidden }: { readonly hidden: boolean },
): Promise<BoxFileResult<{ readonly entries: readonly BoxFileEntry[]; readonly isCut: boolean }>> {
  const ran = await runScript(box, LIST_SCRIPT, [path], {
    maxOutputBytes: MAX_LISTING_BYTES,
    isRead: true,
  })
  if ("reason" in ran) return ran
  // Text after the last NUL is an entry that was cut off.
  const rows = Buffer.from(ran.stdout).toString("latin1").split("\0").slice(0, -1)
  const entries = rows.map((row) => parseEntry(Buffer.from(row, "latin1")))
  const shown = entries.filter(({ name }) => hidden || !name.startsWith("."))
  return {
    ok: true,
    entries: shown.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    isCut: ran.isTruncated.stdout,
  }
}

/** Reads a file of at most `maxBytes`. @throws errors of `BoxHandle.run` */
export async function readBoxFile(
  box: BoxHandle,
  path: string,
  maxBytes: number,
): Promise<BoxFileResult<{ readonly bytes: Uint8Array }>> {
  const limit = maxBytes + 1
  const ran = await runScript(box, READ_SCRIPT, [path, String(limit)], {
    maxOutputBytes: limit,
    isRead: true,
  })
  if ("reason" in ran) return ran
  if (ran.stdout.length > maxBytes) {
    return { ok: false, reason: "too-large", detail: `it has otherArgs than ${maxBytes} bytes` }
  }
  return { ok: true, bytes: ran.stdout }
}

/** Creates or replaces a file; a replaced one keeps its mode. @throws errors of `BoxHandle.run` */
export async function writeBoxFile(
  box: BoxHandle,
  path: string,
  bytes: Uint8Array,
): Promise<BoxFileResult<object>> {
  const stdin = (async function* () {
    yield bytes
  })()
  const ran = await runScript(box, WRITE_SCRIPT, [path, String(bytes.length)], { stdin })
  return "reason" in ran ? ran : { ok: true }
}

/** Removes a file or a link, never a folder. @throws errors of `BoxHandle.run` */
export async function removeBoxFile(box: BoxHandle, path: string): Promise<BoxFileResult<object>> {
  const ran = await runScript(box, REMOVE_SCRIPT, [path])
  return "reason" in ran ? ran : { ok: true }
}

interface ScriptOptions {
  readonly stdin?: AsyncIterable<Uint8Array>
  readonly maxOutputBytes?: number
  readonly isRead?: boolean
}

async function runScript(
  box: BoxHandle,
  script: string,
  args: readonly string[],
  { stdin, maxOutputBytes = 0, isRead = false }: ScriptOptions = {},
): Promise<CommandResult | BoxFileError> {
  // A file name cannot contain NUL, nor can an argument.
  if (args[0]?.includes("\0") === true) return { ok: false, reason: "missing", detail: "" }
  const [path = "", ...otherArgs] = args
  const ran = await box.run(["sh", "-c", script, "sh", absolutePath(path), ...otherArgs], {
    ...(stdin === undefined ? {} : { stdin }),
    cwd: "/",
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: Math.max(maxOutputBytes, MAX_ERROR_LENGTH),
    isActivity: !isRead,
  })
  return ran.exitCode === 0 ? ran : { ok: false, ...parseFileError(script, ran) }
}

const MAX_ERROR_LENGTH = 4_096

function parseFileError(
  script: string,
  { exitCode, stderr, isTimedOut }: CommandResult,
): Omit<BoxFileError, "ok"> {
  const output = Buffer.from(stderr).toString("utf8").slice(0, MAX_ERROR_LENGTH).trim()
  const detail = isTimedOut ? `it took longer than ${TIMEOUT_MS / 1_000} s` : output
  switch (exitCode) {
    case EXIT_CODES.folder:
      return { reason: "folder", detail }
    case EXIT_CODES.missing:
      return { reason: "missing", detail }
    case EXIT_CODES.otherKind:
      return { reason: script === LIST_SCRIPT ? "no-folder" : "no-file", detail }
    case EXIT_CODES.denied:
      return { reason: "denied", detail }
    default:
      return {
        reason: "failed",
        detail: detail === "" ? `it exited with code ${exitCode}` : detail,
      }
  }
}

const ENTRY_TYPES: Readonly<Record<string, BoxFileEntry["type"]>> = {
  f: "file",
  d: "directory",
  l: "link",
}

function parseEntry(bytes: Buffer): BoxFileEntry {
  const row = bytes.toString("utf8")
  const [type = "", size, seconds] = row.split("\t", 3)
  // The name follows the third tab and may contain tabs.
  const name = row.split("\t").slice(3).join("\t")
  return {
    name,
    type: ENTRY_TYPES[type] ?? "other",
    size: Number(size),
    modifiedAt: Math.floor(Number(seconds) * 1_000),
    isReplaced: !isUtf8(bytes),
  }
}

/** A file of a simulated box; a folder has no bytes. */
interface SimulatedFile {
  readonly bytes: Buffer | null
  /** UTC milliseconds. */
  readonly modifiedAt: number
}

/** The files of a simulated box by absolute path. */
export type SimulatedFiles = Map<string, SimulatedFile>

interface SimulatedScriptInput {
  readonly files: SimulatedFiles
  /** The script's arguments; the first one of a file script is an absolute path. */
  readonly args: readonly string[]
  readonly stdin: Buffer
  /** UTC milliseconds. */
  readonly now: number
}

/** A script's output, or its exit code if it fails. */
type SimulatedScript = (input: SimulatedScriptInput) => Buffer | number

const NO_OUTPUT = Buffer.alloc(0)

/** The files of a new box: its empty folders. */
export function newSimulatedFiles(now: number): SimulatedFiles {
  const files: SimulatedFiles = new Map()
  for (const path of [WORKSPACE, "/tmp"]) makeFolder(files, path, now)
  return files
}

/** Whether a path of a box is a folder. */
export const isSimulatedFolder = (files: SimulatedFiles, path: string): boolean =>
  files.get(path)?.bytes === null

/** Creates a folder and its parents; false if a file is in the way. */
function makeFolder(files: SimulatedFiles, path: string, now: number): boolean {
  if (files.has(path)) return isSimulatedFolder(files, path)
  if (path !== "/" && !makeFolder(files, posix.dirname(path), now)) return false
  files.set(path, { bytes: null, modifiedAt: now })
  return true
}

/** The bytes of a file, or a script's exit code if there are none. */
function readSimulatedBytes({ files, args: [path = ""] }: SimulatedScriptInput): Buffer | number {
  const found = files.get(posix.resolve(path))
  return found === undefined ? EXIT_CODES.missing : (found.bytes ?? EXIT_CODES.folder)
}

const simulateList: SimulatedScript = ({ files, args: [path = ""] }) => {
  const folder = posix.resolve(path)
  if (!files.has(folder)) return EXIT_CODES.missing
  if (!isSimulatedFolder(files, folder)) return EXIT_CODES.otherKind
  const rows = [...files].flatMap(([at, { bytes, modifiedAt }]) => {
    if (at === folder || posix.dirname(at) !== folder) return []
    const seconds = (modifiedAt / 1_000).toFixed(3)
    return `${bytes === null ? "d" : "f"}\t${bytes?.length ?? 0}\t${seconds}\t${posix.basename(at)}\0`
  })
  return Buffer.from(rows.join(""))
}

const simulateRead: SimulatedScript = (input) => {
  const found = readSimulatedBytes(input)
  return typeof found === "number" ? found : found.subarray(0, Number(input.args[1]))
}

const simulateWrite: SimulatedScript = (input) => {
  const { files, args, stdin, now } = input
  const [path = "", length] = args
  if (readSimulatedBytes(input) === EXIT_CODES.folder || path.endsWith("/"))
    return EXIT_CODES.folder
  const absolute = posix.resolve(path)
  if (!makeFolder(files, posix.dirname(absolute), now)) return EXIT_CODES.denied
  if (stdin.length !== Number(length)) return EXIT_CODES.notWritten
  files.set(absolute, { bytes: stdin, modifiedAt: now })
  return NO_OUTPUT
}

const simulateRemove: SimulatedScript = (input) => {
  const found = readSimulatedBytes(input)
  if (typeof found === "number") return found
  input.files.delete(posix.resolve(input.args[0] ?? ""))
  return NO_OUTPUT
}

/**
 * The scripts that a simulated box supports, by text. It has no git: checked-out code is dropped,
 * and none can be committed.
 */
export const SIMULATED_SCRIPTS: ReadonlyMap<string, SimulatedScript> = new Map([
  [LIST_SCRIPT, simulateList],
  [READ_SCRIPT, simulateRead],
  [WRITE_SCRIPT, simulateWrite],
  [REMOVE_SCRIPT, simulateRemove],
  [CHECKOUT_SCRIPT, () => NO_OUTPUT],
  [COMMIT_SCRIPT, () => NO_OUTPUT],
])
