import { statfs } from "node:fs/promises"
import type { Folder } from "./paths.ts"
import { StartupFault } from "../../machine/startup/port.ts"

/** With less than this left PostgreSQL cannot even write why it gave up. */
const FULL_DISK_BYTES = 1_000_000

const ELSEWHERE = "set LEDGER_DATA_DIR to another folder"

/** The `code` of a fault from the operating system (`"ENOENT"`), undefined for any other. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

/** The sentence for an operating system's fault with `path`, undefined when there is none. */
function explainCode(error: unknown, path: string): StartupFault | undefined {
  const sentence = sentenceOfCode(errorCode(error), path)
  return sentence === undefined ? undefined : new StartupFault(sentence, error)
}

/** Does `work` on `path`; a fault that an operator can mend is thrown as a `StartupFault`. */
export async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explainCode(error, path) ?? error
  }
}

function sentenceOfCode(code: string | undefined, path: string): string | undefined {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return `The disk that holds ${path} is full: free some space on it and start again.`
    case "EACCES":
    case "EPERM":
      return (
        `${path} cannot be read and written by this user: ` +
        `make its owner the user who starts the program (chown -R), or ${ELSEWHERE}.`
      )
    case "EROFS":
      return `${path} is on a read-only file system: make it writable, or ${ELSEWHERE}.`
    case "ENOTDIR":
    case "EEXIST":
      return `${path} lies inside a file or is one, where a folder is needed: ${ELSEWHERE}.`
    case "ENAMETOOLONG":
      return `The path ${path} is too long: ${ELSEWHERE} with a shorter path.`
    default:
      return undefined
  }
}

/** What a line of PostgreSQL's says, and the sentence it becomes. The first that fits wins. */
const SAID: readonly (readonly [RegExp, (folder: Folder) => string | undefined])[] = [
  [
    /shared memory.*No space left on device|POSIX semaphore.*No space left/i,
    () =>
      "The machine's shared memory (/dev/shm) is full: " +
      "make it larger (docker run --shm-size=256m), or set DATABASE_URL.",
  ],
  [
    /No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes/i,
    ({ dataDir }) => sentenceOfCode("ENOSPC", dataDir),
  ],
  [/Read-only file system/i, ({ dataDir }) => sentenceOfCode("EROFS", dataDir)],
  [
    /Cannot allocate memory|out of memory/i,
    () =>
      "The machine has too little free memory for PostgreSQL (about 200 MB): " +
      "free some, or set DATABASE_URL to a PostgreSQL elsewhere.",
  ],
  [/wrong ownership/i, ({ cluster }) => sentenceOfCode("EACCES", cluster)],
  [
    /Permission denied|Operation not permitted/i,
    ({ cluster }) => sentenceOfCode("EACCES", cluster),
  ],
  [/File name too long|path.* too long/i, ({ cluster }) => sentenceOfCode("ENAMETOOLONG", cluster)],
  [
    /database files are incompatible|not compatible with this version/i,
    ({ cluster }) =>
      `${cluster} was made by another version of PostgreSQL: start it with the release that ` +
      `made it, or ${ELSEWHERE}.`,
  ],
  [
    /password authentication failed/i,
    ({ access }) =>
      `The password in ${access} is not the one of the PostgreSQL beside it: ` +
      `remove that file and start again, which sets a new one.`,
  ],
  [
    /lock file "[^"]*" already exists/i,
    ({ cluster }) =>
      `Another PostgreSQL works on ${cluster}: stop the program that started it, or ${ELSEWHERE}.`,
  ],
]

/**
 * The sentence for what PostgreSQL's programs wrote before they gave up. Lines nobody foresaw are
 * quoted: the first FATAL, PANIC or error among them, else the last line.
 */
export async function explainOutput(
  lines: readonly string[],
  folder: Folder,
): Promise<StartupFault> {
  const text = lines.join("\n")
  for (const [said, sentenceFor] of SAID) {
    const sentence = said.test(text) ? sentenceFor(folder) : undefined
    if (sentence !== undefined) return new StartupFault(sentence, text)
  }
  const { bavail, bsize } = await statfs(folder.dataDir)
  const full =
    bavail * bsize < FULL_DISK_BYTES ? sentenceOfCode("ENOSPC", folder.dataDir) : undefined
  if (full !== undefined) return new StartupFault(full, text)
  const worst = lines.find((line) => /(FATAL|PANIC|error):/i.test(line)) ?? lines.at(-1)
  const said = worst === undefined ? "it said nothing" : `it said "${worst.trim()}"`
  return new StartupFault(
    `PostgreSQL could not start in ${folder.cluster}: ${said}; ` +
      `read ${folder.log}, or set DATABASE_URL to another PostgreSQL.`,
    text,
  )
}
