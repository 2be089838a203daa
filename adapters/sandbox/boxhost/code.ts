/**
 * Code into a box and out of it, as packs of git: there is no remote in a box, no credential, and no
 * way to the code server. What comes out is untrusted, whatever a script of ours did in the box.
 */
import { BRING, DROP, PACK, RECORD, piecesOf } from "./code-scripts.ts"
import type { Box, BroughtCode, CodeOut, Ran, TakenCode } from "./port.ts"

/** Unpacking a repository of some GiB takes so long. */
const WITHIN_MS = 600_000
/** As much as a push over the wire sends. */
const MOST_PACK = 512 * 1024 * 1024
const MOST_SAID = 64 * 1024

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
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: author.name,
    GIT_COMMITTER_EMAIL: author.email,
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

interface More {
  readonly stdin?: AsyncIterable<Uint8Array>
  readonly environment?: Readonly<Record<string, string>>
}

function run(box: Box, script: string, args: readonly string[], more: More = {}): Promise<Ran> {
  // The scripts go to the repository themselves, and say so where there is none.
  const options = {
    ...more,
    cwd: "/",
    timeoutMs: WITHIN_MS,
    mostBytes: MOST_SAID,
    activity: script === RECORD,
  }
  return box.run(["sh", "-c", script, "sh", ...args], options)
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8")

const saidBy = ({ exitCode, stderr, isTimedOut }: Ran): string =>
  isTimedOut ? "git took too long" : textOf(stderr).trim() || `git ended with ${exitCode}`

const refusedBy = (ran: Ran): CodeOut => ({
  is: "refused",
  exitCode: ran.exitCode,
  says: saidBy(ran),
})
