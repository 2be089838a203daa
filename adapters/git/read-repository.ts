/** Reads a repository: refs, files and reachability. */
import { gitObjectType } from "./push-objects.ts"
import type { GitTreeEntry, GitHead, GitRef, GitSession } from "./port.ts"
import { GitFailed } from "./port.ts"
import type { GitRuntime, GitExit, GitProcess } from "./process.ts"
import { gitOutput } from "./process.ts"

export interface RepositoryHandle {
  readonly runtime: GitRuntime
  readonly folder: string
}

const REF_PREFIXES = ["refs/heads", "refs/tags"]

/** The branches and tags. */
export async function readRefs({ runtime, folder }: RepositoryHandle): Promise<readonly GitRef[]> {
  const args = ["for-each-ref", "--format=%(objectname) %(refname)", ...REF_PREFIXES]
  const text = (await gitOutput(runtime, { folder, args })).toString("utf8")
  return nonEmptyLines(text).map((line) => ({ id: line.slice(0, 40), ref: line.slice(41) }))
}

const nonEmptyLines = (text: string): readonly string[] =>
  text.split("\n").filter((line) => line !== "")

/** The target of `HEAD`. */
export async function readHead({ runtime, folder }: RepositoryHandle): Promise<GitHead> {
  // A star marks the branch that `HEAD` points to, if it exists.
  const args = ["for-each-ref", "--format=%(HEAD)%(refname)", "refs/heads"]
  const text = (await gitOutput(runtime, { folder, args })).toString("utf8")
  const born = nonEmptyLines(text).find((line) => line.startsWith("*"))
  if (born !== undefined) return { ref: born.slice(1), isBorn: true }
  const unborn = await gitOutput(runtime, { folder, args: ["symbolic-ref", "HEAD"] })
  return { ref: unborn.toString("utf8").trim(), isBorn: false }
}

/** Points `HEAD` to a branch. */
export async function writeHead({ runtime, folder }: RepositoryHandle, ref: string): Promise<void> {
  await gitOutput(runtime, { folder, args: ["symbolic-ref", "HEAD", ref], isWrite: true })
}

/** Whether the repository has a branch or a tag. */
export async function hasRefs({ runtime, folder }: RepositoryHandle): Promise<boolean> {
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", ...REF_PREFIXES]
  return (await gitOutput(runtime, { folder, args })).length > 0
}

/** Whether a branch or a tag reaches a commit. */
export async function isReachable(
  { runtime, folder }: RepositoryHandle,
  commit: string,
): Promise<boolean> {
  if (!/^[0-9a-f]{40}$/.test(commit)) return false
  if ((await gitObjectType(runtime, folder, commit)) !== "commit") return false
  const args = [
    "for-each-ref",
    "--count=1",
    "--format=%(refname)",
    "--contains",
    commit,
    ...REF_PREFIXES,
  ]
  return (await gitOutput(runtime, { folder, args })).length > 0
}

/** The entry at a path of a commit; null if there is none or it is longer than `maxBytes`. */
export async function readFileAt(
  { runtime, folder }: RepositoryHandle,
  commit: string,
  path: string,
  maxBytes: number,
): Promise<(GitTreeEntry & { readonly bytes: Uint8Array }) | null> {
  if (!/^[0-9a-f]{40}$/.test(commit) || path.includes("\0")) return null
  // Git would normalize these to another path.
  if (path.split("/").some((part) => part === "" || part === "." || part === "..")) return null
  if ((await gitObjectType(runtime, folder, commit)) !== "commit") return null
  const env = { GIT_LITERAL_PATHSPECS: "1" }
  const args = ["ls-tree", "-z", "--long", "--full-tree", commit, "--", path]
  const row = (await gitOutput(runtime, { folder, args, env })).toString("utf8").split("\0", 1)[0]
  const [, mode, type, id, size] = /^(\d+) (\w+) ([0-9a-f]{40}) +(\d+|-)\t/.exec(row ?? "") ?? []
  if (mode === undefined || id === undefined) return null
  // As git stores it: `ls-tree` prints the mode of a folder with a leading zero.
  const entry = { mode: mode.replace(/^0/, ""), id }
  if (type !== "blob") return { ...entry, bytes: new Uint8Array() }
  if (Number(size) > maxBytes) return null
  return { ...entry, bytes: await gitOutput(runtime, { folder, args: ["cat-file", "blob", id] }) }
}

/** Timeouts of a session, milliseconds. */
export interface GitSessionTimeouts {
  /** Time without a byte to the client or some KiB from it. */
  readonly idleMs: number
  readonly totalMs: number
  /** Time for git to clean up after the client is gone. */
  readonly graceMs: number
}

/** Minimum number of bytes that a sending client must send within `idleMs`. */
const MIN_BYTES_PER_IDLE_PERIOD = 16 * 1024

/** The default timeouts of a session. */
export const DEFAULT_SESSION_TIMEOUTS: GitSessionTimeouts = {
  idleMs: 60_000,
  totalMs: 3_600_000,
  graceMs: 10_000,
}

/**
 * Relays bytes both ways until the process ends. If the client disconnects or a timeout passes, the
 * process gets no more input and is killed `graceMs` later; until then it can remove its
 * quarantine.
 *
 * @param onLeft called when the client is gone
 * @throws GitFailed if git failed before its first output, unless we ended it
 */
export async function relaySession(
  running: GitProcess,
  { input, send, signal }: Pick<GitSession, "input" | "send" | "signal">,
  timeouts: GitSessionTimeouts,
  onLeft: () => void = () => undefined,
): Promise<GitExit> {
  const { stdin, stdout, kill } = running
  let leaveReason: "gone" | "late" | null = null
  let killing: NodeJS.Timeout | undefined
  const leave = (reason: "gone" | "late"): void => {
    if (leaveReason !== null) return
    leaveReason = reason
    onLeft()
    stdin.end()
    killing = setTimeout(kill, timeouts.graceMs)
  }
  const currentReason = () => leaveReason
  const onDisconnect = (): void => leave("gone")
  const idle = setTimeout(leave, timeouts.idleMs, "late")
  const end = setTimeout(leave, timeouts.totalMs, "late")
  signal.addEventListener("abort", onDisconnect)
  if (signal.aborted) onDisconnect()
  let isAnswered = false
  const answering = async () => {
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      idle.refresh()
      isAnswered = true
      // Output without a reader is still read, so that git can end.
      if (leaveReason === null) await send(chunk).catch(onDisconnect)
    }
  }
  void relayInput(running, input, () => leaveReason !== null, idle).catch(onDisconnect)
  try {
    const [ended] = await Promise.all([running.exit, answering()])
    if (ended.code !== 0 && !isAnswered && leaveReason === null) {
      throw new GitFailed(`git exited with ${ended.code}: ${ended.stderr.trim().slice(0, 500)}`)
    }
    // A cut-off answer tells the client that the session failed.
    if (currentReason() === "late")
      throw new GitFailed(
        `the client was idle for ${timeouts.idleMs} ms, or the session took longer than ${timeouts.totalMs} ms`,
      )
    return ended
  } finally {
    for (const timer of [idle, end, killing]) clearTimeout(timer)
    signal.removeEventListener("abort", onDisconnect)
  }
}

/**
 * Writes the client's input to the process; reads it to the end even if the process no longer needs
 * it.
 */
async function relayInput(
  { stdin, exit }: GitProcess,
  input: AsyncIterable<Uint8Array>,
  hasLeft: () => boolean,
  idle: NodeJS.Timeout,
): Promise<void> {
  let length = 0
  for await (const chunk of input) {
    length += chunk.length
    // A client that sends a byte now and then must not hold a session open.
    if (length >= MIN_BYTES_PER_IDLE_PERIOD) {
      idle.refresh()
      length = 0
    }
    if (hasLeft()) return
    if (stdin.destroyed || stdin.writableEnded || stdin.write(chunk)) continue
    const { promise: drained, resolve } = Promise.withResolvers<void>()
    stdin.once("drain", resolve)
    await Promise.race([drained, exit])
  }
  idle.refresh()
  stdin.end()
}
