/** A client of git and a process of git, that talk to each other through us. */
import type { Conversation } from "./port.ts"
import { GitFailed } from "./port.ts"
import type { Ended, Running } from "./process.ts"

/** How long a conversation may take, milliseconds. */
export interface ConversationLimits {
  /** Without a byte to the client, or some KiB from it. */
  readonly idleMs: number
  readonly endMs: number
  /** For a git to tidy up in, once its client is gone. */
  readonly graceMs: number
}

/** A client that sends must send so many bytes within `idleMs`. */
const SLOWEST_BYTES = 16 * 1024

/** What the defaults are. */
export const LIMITS: ConversationLimits = { idleMs: 60_000, endMs: 3_600_000, graceMs: 10_000 }

/**
 * Carries bytes both ways until the process ends. Where the client goes away, or time runs out, the
 * process is left without more input, and killed where it has not ended `graceMs` later: so it takes its
 * quarantine away by itself.
 *
 * @param onLeft told once that nobody listens any more
 * @throws GitFailed where it ended before it said anything, and not because of us
 */
export async function converse(
  running: Running,
  { input, send, signal }: Pick<Conversation, "input" | "send" | "signal">,
  limits: ConversationLimits,
  onLeft: () => void = () => undefined,
): Promise<Ended> {
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
  const end = setTimeout(leave, limits.endMs, "late")
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
  void feed(running, input, () => left !== null, idle).catch(gone)
  try {
    const [ended] = await Promise.all([running.ended, answering()])
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
async function feed(
  { stdin, ended }: Running,
  input: AsyncIterable<Uint8Array>,
  isLeft: () => boolean,
  idle: NodeJS.Timeout,
): Promise<void> {
  let length = 0
  for await (const piece of input) {
    length += piece.length
    // A byte now and then would keep a place from all others.
    if (length >= SLOWEST_BYTES) {
      idle.refresh()
      length = 0
    }
    if (isLeft()) return
    if (stdin.destroyed || stdin.writableEnded || stdin.write(piece)) continue
    const { promise: drained, resolve } = Promise.withResolvers<void>()
    stdin.once("drain", resolve)
    await Promise.race([drained, ended])
  }
  idle.refresh()
  stdin.end()
}
