/**
 * Code into a box and out of it, as packs of git: there is no remote in a box, no credential, and no
 * way to the code server. What comes out is untrusted, whatever a script of ours did in the box.
 */
import { BRING, DROP, PACK, PIECE, RECORD } from "./code-scripts.ts"
import type { Box, Ran } from "./port.ts"

/** Unpacking a repository of some GiB takes so long. */
const WITHIN_MS = 600_000
/** A piece is held in memory. */
const PIECE_BYTES = 8 * 1024 * 1024
/** As much as a push over the wire sends. */
const MOST_PACK = 512 * 1024 * 1024
const MOST_SAID = 64 * 1024

/** Somebody, as git names them. */
export interface GitPerson {
  readonly name: string
  readonly email: string
}

/** What a box begins with. */
export interface BroughtCode {
  /** All that the commit reaches; empty where there is none. */
  readonly pack: AsyncIterable<Uint8Array>
  /** Without `refs/heads/`; it is made where the repository has none of its name. */
  readonly branch: string
  /** Null for an empty repository: its branch begins with the first commit. */
  readonly tip: string | null
  /** Who commits in the box, unless told otherwise; null: nobody. */
  readonly person: GitPerson | null
}

/** What is to be taken out of a box. */
export interface TakenCode {
  readonly branch: string
  /** The commit that the repository has of it, and the box: nothing that it reaches is packed. */
  readonly base: string | null
  readonly message: string
  readonly author: GitPerson
}

/** What came of taking code out of a box. */
export type CodeOut =
  | { readonly is: "nothing" }
  /** Git's own words; they may be anything that is written in a box. */
  | { readonly is: "refused"; readonly exitCode: number; readonly says: string }
  | {
      readonly is: "commit"
      readonly tip: string
      /** A thin pack, to be read once: then nothing of it is left in the box. @throws CodeTorn */
      readonly pack: AsyncIterable<Uint8Array>
      /** As the box says. */
      readonly bytes: number
    }

/** What a box says of its code is none, or is torn. */
export class CodeTorn extends Error {
  override readonly name = "CodeTorn"
}

/**
 * Makes the repository of a box and checks its branch out. Again: nothing, so that a work that was
 * begun is kept.
 *
 * @returns git's own words where it did not; null where it did
 * @throws what `Box.run` does
 */
export async function bringCode(
  box: Box,
  { pack, branch, tip, person }: BroughtCode,
): Promise<string | null> {
  const args = [branch, tip ?? "", person?.name ?? "", person?.email ?? ""]
  const ran = await run(box, BRING, args, { stdin: pack })
  return ran.exitCode === 0 ? null : saidBy(ran)
}

/** Commits what is in a box, and packs what its branch has beyond `base`. @throws what `Box.run` does */
export async function takeCode(
  box: Box,
  { branch, base, message, author }: TakenCode,
): Promise<CodeOut> {
  const environment = {
    ...{ GIT_AUTHOR_NAME: author.name, GIT_AUTHOR_EMAIL: author.email },
    ...{ GIT_COMMITTER_NAME: author.name, GIT_COMMITTER_EMAIL: author.email },
  }
  const recorded = await run(box, RECORD, [branch, message], { environment })
  if (recorded.exitCode !== 0) return refusedBy(recorded)
  const tip = textOf(recorded.stdout).trim()
  if (tip === "" || tip === base) return { is: "nothing" }
  if (!/^[0-9a-f]{40}$/.test(tip)) return { is: "refused", exitCode: 1, says: NO_COMMIT }
  const packed = await run(box, PACK, [tip, base ?? ""])
  if (packed.exitCode !== 0) return refusedBy(packed)
  const [, size = "", path = ""] = /^(\d{1,15}) (\/.*)$/s.exec(textOf(packed.stdout)) ?? []
  const bytes = Number(size)
  if (path === "") return { is: "refused", exitCode: 1, says: NO_COMMIT }
  if (bytes > MOST_PACK) {
    await run(box, DROP, [path])
    return { is: "refused", exitCode: 1, says: `a push has at most ${MOST_PACK} bytes` }
  }
  return { is: "commit", tip, bytes, pack: piecesOf(box, path, bytes) }
}

const NO_COMMIT = "git in the box named no commit"

async function* piecesOf(box: Box, path: string, bytes: number): AsyncGenerator<Uint8Array> {
  try {
    for (let at = 0; at < bytes;) {
      const most = Math.min(PIECE_BYTES, bytes - at)
      const args = [path, String(at), String(most)]
      const { exitCode, stdout } = await run(box, PIECE, args, { mostBytes: most })
      if (exitCode !== 0 || stdout.length === 0 || stdout.length > most) {
        throw new CodeTorn(`the pack of ${box.boxId} ended at ${at} of ${bytes} bytes`)
      }
      at += stdout.length
      yield stdout
    }
  } finally {
    await run(box, DROP, [path])
  }
}

interface More {
  readonly stdin?: AsyncIterable<Uint8Array>
  readonly environment?: Readonly<Record<string, string>>
  readonly mostBytes?: number
}

function run(box: Box, script: string, args: readonly string[], more: More = {}): Promise<Ran> {
  const { mostBytes = MOST_SAID, ...given } = more
  const options = { ...given, timeoutMs: WITHIN_MS, mostBytes, activity: script === RECORD }
  return box.run(["sh", "-c", script, "sh", ...args], options)
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8")

const saidBy = ({ exitCode, stderr, isTimedOut }: Ran): string =>
  isTimedOut ? "git took too long" : textOf(stderr).trim() || `git ended with ${exitCode}`

const refusedBy = (ran: Ran): CodeOut => ({
  ...{ is: "refused", exitCode: ran.exitCode },
  says: saidBy(ran),
})
