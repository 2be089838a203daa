import { statfs } from "node:fs/promises"
import type { Folder } from "./folder.ts"
import { ELSEWHERE, StartupFault, sentenceOfCode } from "../../machine/startup/port.ts"

/** With less than this left PostgreSQL cannot even write why it gave up. */
const FULL_DISK_BYTES = 1_000_000

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
