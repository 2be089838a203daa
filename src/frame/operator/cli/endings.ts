/** How commands end: their exit codes, and what is printed where they are not done. */
import type { ErrorBody } from "../protocol.ts"
import { USAGE } from "../protocol.ts"
import { NothingBegun } from "./confirming.ts"
import { plainBodyOf } from "./error-bodies.ts"
import type { Invocation } from "./program.ts"
import { MORE_HELP } from "./program.ts"
import type { Terminal } from "./terminal.ts"
import { harmless } from "./terminal.ts"

/** Exit codes: done, refused, wrong usage. */
export const [DONE, REFUSED, WRONG_USAGE] = [0, 1, 2] as const
/** Exit code of what was interrupted, as shells have it for SIGINT. */
const INTERRUPTED = 130

/** Prints why something was not done. Words that cannot stand together are wrong usage. */
export function refused(body: ErrorBody, json: boolean, terminal: Terminal): number {
  const isUsage = body.error === USAGE
  if (isUsage) terminal.err(`error: ${harmless(body.message)}\n${MORE_HELP}\n`)
  else if (!json) terminal.err(`${harmless(body.message)}\n`)
  if (json) printJson(terminal, body)
  return isUsage ? WRONG_USAGE : REFUSED
}

/** Prints what ended a command, and tells its exit code. */
export async function failed(
  error: unknown,
  { command, json }: Invocation,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const isUnbegun = error instanceof NothingBegun
  const isAbort = signal.aborted && error === signal.reason
  if (isUnbegun || isAbort) {
    const message = isUnbegun
      ? "Interrupted at the question: nothing was done."
      : command.changes
        ? "Interrupted: look whether it was done before giving it again."
        : command.does === "move"
          ? "Interrupted: give the same command again, and it goes on where it stopped."
          : "Interrupted before it was done."
    if (json) printJson(terminal, { error: "interrupted", message })
    else terminal.err(`${message}\n`)
    return INTERRUPTED
  }
  const message = error instanceof Error ? error.message : String(error)
  const body = await plainBodyOf(error)
  if (body !== null) refused(body, json, terminal)
  else {
    const stack = error instanceof Error ? (error.stack ?? message) : message
    terminal.err(`This is a fault of the program:\n${stack}\n`)
    if (json) printJson(terminal, { error: "internal", message })
  }
  return signal.aborted ? INTERRUPTED : REFUSED
}

/** Prints the one document of `--json`. */
export function printJson(terminal: Terminal, document: unknown): void {
  terminal.out(`${JSON.stringify(document, null, terminal.isTTY ? 2 : undefined)}\n`)
}

/** What an interrupted command opened is closed within so long; it is left before the program is. */
export const GIVE_UP_MS = 9_000

/** The value of a promise, or the reason of the signal where that comes first. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return unlessEnded(promise, signal, (end) => end())
}

/** The value of a promise, or the reason of the signal where that was aborted so long before. */
export async function soonAfterAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  milliseconds: number,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await unlessEnded(promise, signal, (end) => (timer = setTimeout(end, milliseconds)))
  } finally {
    clearTimeout(timer)
  }
}

/** The value of a promise, unless what an abort sets off ends the wait with the signal's reason. */
async function unlessEnded<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  onceAborted: (end: () => void) => void,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const onAbort = () => onceAborted(() => reject(signal.reason as Error))
  if (signal.aborted) onAbort()
  signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([promise, ended])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}
