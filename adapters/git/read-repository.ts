/** What stands in a repository: refs, files, what is reachable. */
import { gitObjectType } from "./push-objects.ts"
import type { GitTreeEntry, GitHead, GitRef, GitSession } from "./port.ts"
import { GitFailed } from "./port.ts"
import type { GitRuntime, GitExit, GitProcess } from "./process.ts"
import { gitOutput } from "./process.ts"

/** A repository that is read. */
export interface RepositoryHandle {
  readonly runtime: GitRuntime
  readonly folder: string
}

const REF_PREFIXES = ["refs/heads", "refs/tags"]

/** Its branches and tags. */
export async function readRefs({ runtime, folder }: RepositoryHandle): Promise<readonly GitRef[]> {
  const args = ["for-each-ref", "--format=%(objectname) %(refname)", ...REF_PREFIXES]
  const text = (await gitOutput(runtime, { folder, args })).toString("utf8")
  return nonEmptyLines(text).map((line) => ({ id: line.slice(0, 40), ref: line.slice(41) }))
}

const nonEmptyLines = (text: string): readonly string[] =>
  text.split("\n").filter((line) => line !== "")

/** Where its `HEAD` points. */
export async function readHead({ runtime, folder }: RepositoryHandle): Promise<GitHead> {
  // The star marks the branch that `HEAD` points to, where that is there.
  const args = ["for-each-ref", "--format=%(HEAD)%(refname)", "refs/heads"]
  const text = (await gitOutput(runtime, { folder, args })).toString("utf8")
  const born = nonEmptyLines(text).find((line) => line.startsWith("*"))
  if (born !== undefined) return { ref: born.slice(1), isBorn: true }
  const unborn = await gitOutput(runtime, { folder, args: ["symbolic-ref", "HEAD"] })
  return { ref: unborn.toString("utf8").trim(), isBorn: false }
}

/** Points its `HEAD` to a branch. */
export async function writeHead({ runtime, folder }: RepositoryHandle, ref: string): Promise<void> {
  await gitOutput(runtime, { folder, args: ["symbolic-ref", "HEAD", ref], isWrite: true })
}

/** Whether it has a branch or a tag. */
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

/** What stands at a path of a commit; null where nothing does, or more than so many bytes. */
export async function readFileAt(
  { runtime, folder }: RepositoryHandle,
  commit: string,
  path: string,
  mostBytes: number,
): Promise<(GitTreeEntry & { readonly bytes: Uint8Array }) | null> {
  if (!/^[0-9a-f]{40}$/.test(commit) || path.includes("\0")) return null
  // Git would make another path of it.
  if (path.split("/").some((part) => part === "" || part === "." || part === "..")) return null
  if ((await gitObjectType(runtime, folder, commit)) !== "commit") return null
  const env = { GIT_LITERAL_PATHSPECS: "1" }
  const args = ["ls-tree", "-z", "--long", "--full-tree", commit, "--", path]
  const row = (await gitOutput(runtime, { folder, args, env })).toString("utf8").split("\0", 1)[0]
  const [, mode, type, id, size] = /^(\d+) (\w+) ([0-9a-f]{40}) +(\d+|-)\t/.exec(row ?? "") ?? []
  if (mode === undefined || id === undefined) return null
  // As git stores it: a folder's begins with a zero here.
  const entry = { mode: mode.replace(/^0/, ""), id }
  if (type !== "blob") return { ...entry, bytes: new Uint8Array() }
  if (Number(size) > mostBytes) return null
  return { ...entry, bytes: await gitOutput(runtime, { folder, args: ["cat-file", "blob", id] }) }
}

/** How long a conversation may take, milliseconds. */
export interface GitSessionTimeouts {
  /** Without a byte to the client, or some KiB from it. */
  readonly idleMs: number
  readonly totalMs: number
  /** For a git to tidy up in, once its client is gone. */
  readonly graceMs: number
}

/** A client that sends must send so many bytes within `idleMs`. */
const MIN_BYTES_PER_IDLE_PERIOD = 16 * 1024

/** What the defaults are. */
export const DEFAULT_SESSION_TIMEOUTS: GitSessionTimeouts = {
  idleMs: 60_000,
  totalMs: 3_600_000,
  graceMs: 10_000,
}

/**
 * Carries bytes both ways until the process ends. Where the client goes away, or time runs out, the
 * process is left without more input, and killed where it has not ended `graceMs` later: so it takes its
 * quarantine away by itself.
 *
 * @param onLeft told once that nobody listens any more
 * @throws GitFailed where it ended before it said anything, and not because of us
 */
export async function relaySession(
  running: GitProcess,
  { input, send, signal }: Pick<GitSession, "input" | "send" | "signal">,
  limits: GitSessionTimeouts,
  onLeft: () => void = () => undefined,
): Promise<GitExit> {
  const { stdin, stdout, kill } = running
  let left: "gone" | "late" | null = null
  let killing: NodeJS.Timeout | undefined
  const leave = (why: "gone" | "late"): void => {
    if (left !== null) return
    left = why
    onLeft()
    stdin.end()
    killing = setTimeout(kill, limits.graceMs)
  }
  const why = () => left
  const gone = (): void => leave("gone")
  const idle = setTimeout(leave, limits.idleMs, "late")
  const end = setTimeout(leave, limits.totalMs, "late")
  signal.addEventListener("abort", gone)
  if (signal.aborted) gone()
  let isAnswered = false
  const answering = async () => {
    for await (const piece of stdout as AsyncIterable<Buffer>) {
      idle.refresh()
      isAnswered = true
      // What nobody takes any more is read all the same, or git could not go on to its end.
      if (left === null) await send(piece).catch(gone)
    }
  }
  void relayInput(running, input, () => left !== null, idle).catch(gone)
  try {
    const [ended] = await Promise.all([running.exit, answering()])
    if (ended.code !== 0 && !isAnswered && left === null) {
      throw new GitFailed(`git exited with ${ended.code}: ${ended.stderr.trim().slice(0, 500)}`)
    }
    // Who was cut off is told so by an answer that has no end.
    if (why() === "late") throw new GitFailed("the client was silent, or took too long")
    return ended
  } finally {
    for (const timer of [idle, end, killing]) clearTimeout(timer)
    signal.removeEventListener("abort", gone)
  }
}

/** Gives a process what its client sends, to the end of it: also what it does not want any more. */
async function relayInput(
  { stdin, exit }: GitProcess,
  input: AsyncIterable<Uint8Array>,
  isLeft: () => boolean,
  idle: NodeJS.Timeout,
): Promise<void> {
  let length = 0
  for await (const piece of input) {
    length += piece.length
    // A byte now and then would keep a place from all others.
    if (length >= MIN_BYTES_PER_IDLE_PERIOD) {
      idle.refresh()
      length = 0
    }
    if (isLeft()) return
    if (stdin.destroyed || stdin.writableEnded || stdin.write(piece)) continue
    const { promise: drained, resolve } = Promise.withResolvers<void>()
    stdin.once("drain", resolve)
    await Promise.race([drained, exit])
  }
  idle.refresh()
  stdin.end()
}
