/**
 * Code into a box and out of it, as packs of git: there is no remote in a box, no credential, and no
 * way to the code server. What comes out is untrusted, whatever a script of ours did in the box.
 */
import {
  CHECKOUT_SCRIPT,
  DELETE_FILE_SCRIPT,
  PACK_SCRIPT,
  COMMIT_SCRIPT,
  readAndDeleteFile,
} from "./code-scripts.ts"
import type {
  BoxHandle,
  CodeCheckout,
  CodeCommitResult,
  CommandResult,
  CodeCommitRequest,
} from "./port.ts"

/** Unpacking a repository of some GiB takes so long. */
const TIMEOUT_MS = 600_000
/** As much as a push over the wire sends. */
const MAX_PACK_BYTES = 512 * 1024 * 1024
const MAX_OUTPUT_BYTES = 64 * 1024

/**
 * Makes the repository of a box and checks its branch out. Again: nothing, so that a work that was
 * begun is kept.
 *
 * @returns git's own words where it did not; null where it did
 * @throws what `Box.run` does
 */
export async function checkOutInBox(
  box: BoxHandle,
  { pack, branch, tip, identity }: CodeCheckout,
): Promise<string | null> {
  const args = [branch, tip ?? "", identity?.name ?? "", identity?.email ?? ""]
  const ran = await runScript(box, CHECKOUT_SCRIPT, args, { stdin: pack })
  return ran.exitCode === 0 ? null : errorOutputOf(ran)
}

/** Commits what is in a box, and packs what its branch has beyond `base`. @throws what `Box.run` does */
export async function commitInBox(
  box: BoxHandle,
  { branch, base, message, author }: CodeCommitRequest,
): Promise<CodeCommitResult> {
  const environment = {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: author.name,
    GIT_COMMITTER_EMAIL: author.email,
  }
  const recorded = await runScript(box, COMMIT_SCRIPT, [branch, message], { environment })
  if (recorded.exitCode !== 0) return rejectedResult(recorded)
  const tip = textOf(recorded.stdout).trim()
  if (tip === "" || tip === base) return { outcome: "nothing" }
  if (!/^[0-9a-f]{40}$/.test(tip))
    return { outcome: "refused", exitCode: 1, output: NO_COMMIT_MESSAGE }
  const packed = await runScript(box, PACK_SCRIPT, [tip, base ?? ""])
  if (packed.exitCode !== 0) return rejectedResult(packed)
  const [, size = "", path = ""] = /^(\d{1,15}) (\/.*)$/s.exec(textOf(packed.stdout)) ?? []
  const bytes = Number(size)
  if (path === "") return { outcome: "refused", exitCode: 1, output: NO_COMMIT_MESSAGE }
  if (bytes > MAX_PACK_BYTES) {
    await runScript(box, DELETE_FILE_SCRIPT, [path])
    return { outcome: "refused", exitCode: 1, output: `a push has at most ${MAX_PACK_BYTES} bytes` }
  }
  return { outcome: "commit", tip, bytes, pack: readAndDeleteFile(box, path, bytes) }
}

const NO_COMMIT_MESSAGE = "git in the box named no commit"

interface ScriptOptions {
  readonly stdin?: AsyncIterable<Uint8Array>
  readonly environment?: Readonly<Record<string, string>>
}

function runScript(
  box: BoxHandle,
  script: string,
  args: readonly string[],
  more: ScriptOptions = {},
): Promise<CommandResult> {
  // The scripts go to the repository themselves, and say so where there is none.
  const options = {
    ...more,
    cwd: "/",
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    isActivity: script === COMMIT_SCRIPT,
  }
  return box.run(["sh", "-c", script, "sh", ...args], options)
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8")

const errorOutputOf = ({ exitCode, stderr, isTimedOut }: CommandResult): string =>
  isTimedOut ? "git took too long" : textOf(stderr).trim() || `git ended with ${exitCode}`

const rejectedResult = (ran: CommandResult): CodeCommitResult => ({
  outcome: "refused",
  exitCode: ran.exitCode,
  output: errorOutputOf(ran),
})
