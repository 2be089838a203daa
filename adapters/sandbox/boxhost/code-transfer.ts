/**
 * Transfers code into and out of boxes as git packs: a box has no remote, no credentials and no
 * access to the code server. Code from a box is untrusted.
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

/** Enough to unpack a repository of some GiB. */
const TIMEOUT_MS = 600_000
/** The size limit of a push. */
const MAX_PACK_BYTES = 512 * 1024 * 1024
const MAX_OUTPUT_BYTES = 64 * 1024

/**
 * Creates a box's repository and checks its branch out. Idempotent, so that work in the box is
 * kept.
 *
 * @returns git's error output; null on success
 * @throws errors of `BoxHandle.run`
 */
export async function checkOutInBox(
  box: BoxHandle,
  { pack, branch, tip, identity }: CodeCheckout,
): Promise<string | null> {
  const args = [branch, tip ?? "", identity?.name ?? "", identity?.email ?? ""]
  const ran = await runScript(box, CHECKOUT_SCRIPT, args, { stdin: pack })
  return ran.exitCode === 0 ? null : errorOutputOf(ran)
}

/**
 * Commits the changes in a box and packs the branch's commits since `base`. @throws errors of
 * `BoxHandle.run`
 */
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
    return {
      outcome: "refused",
      exitCode: 1,
      output: `the push has ${bytes} bytes; the limit is ${MAX_PACK_BYTES}`,
    }
  }
  return { outcome: "commit", tip, bytes, pack: readAndDeleteFile(box, path, bytes) }
}

const NO_COMMIT_MESSAGE = "git in the box did not print a commit id"

interface ScriptOptions {
  readonly stdin?: AsyncIterable<Uint8Array>
  readonly environment?: Readonly<Record<string, string>>
}

function runScript(
  box: BoxHandle,
  script: string,
  args: readonly string[],
  extraOptions: ScriptOptions = {},
): Promise<CommandResult> {
  // The scripts change to the repository's folder themselves and report if it is missing.
  const options = {
    ...extraOptions,
    cwd: "/",
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    isActivity: script === COMMIT_SCRIPT,
  }
  return box.run(["sh", "-c", script, "sh", ...args], options)
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8")

const errorOutputOf = ({ exitCode, stderr, isTimedOut }: CommandResult): string =>
  isTimedOut
    ? `git took longer than ${TIMEOUT_MS / 60_000} minutes`
    : textOf(stderr).trim() || `git exited with code ${exitCode}`

const rejectedResult = (ran: CommandResult): CodeCommitResult => ({
  outcome: "refused",
  exitCode: ran.exitCode,
  output: errorOutputOf(ran),
})
