/** Where the command line writes. */
import type { ErrorBody } from "../protocol.ts"
import { USAGE } from "../protocol.ts"
import type { Invocation } from "./command-parser.ts"

/** Standard output and standard error, as much of them as the command line needs. */
export interface Terminal {
  /** Writes to standard output: text, or a piece of a file that is none. */
  readonly out: (text: string | Uint8Array) => void
  /** Writes to standard error. */
  readonly err: (text: string) => void
  /** Whether standard output is a terminal. */
  readonly isTTY: boolean
  /** Whether standard error is a terminal: only there can a line be rewritten. */
  readonly errIsTTY: boolean
  /** Characters in a line. */
  readonly columns: number
  /**
   * Asks whoever sits there for a line, which is empty where none comes; absent where nobody does.
   * @throws the signal's reason
   */
  readonly prompt?: (question: string, signal: AbortSignal) => Promise<string>
}

const DEFAULT_COLUMNS = 80

/** The terminal of this process. A reader that went away (`… | head`) is no fault. */
export function processTerminal({ stdin, stdout, stderr }: NodeJS.Process): Terminal {
  for (const stream of [stdout, stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
    })
  }
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isTTY: Boolean(stdout.isTTY),
    errIsTTY: Boolean(stderr.isTTY),
    columns: stdout.columns || stderr.columns || DEFAULT_COLUMNS,
    ...(stdin.isTTY && stderr.isTTY
      ? { prompt: (question, signal) => readTypedLine(stdin, stderr, question, signal) }
      : {}),
  }
}

/** The line that is typed behind a question. The terminal itself edits it, and sends its signals. */
async function readTypedLine(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  question: string,
  signal: AbortSignal,
): Promise<string> {
  const { createInterface } = await import("node:readline")
  signal.throwIfAborted()
  const lines = createInterface({ input, terminal: false })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const onAbort = () => reject(signal.reason as Error)
  signal.addEventListener("abort", onAbort, { once: true })
  lines.once("line", resolve)
  lines.once("close", () => resolve(""))
  output.write(question)
  try {
    return await promise
  } finally {
    signal.removeEventListener("abort", onAbort)
    lines.close()
  }
}

/** Text that cannot move the cursor or turn the line around: such characters show as escapes. */
export function escapeForTerminalOutput(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return character === "\n" ? "\n" : `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
}

/** Shows progress. */
export interface ProgressLine {
  /** Shows where the work is. */
  readonly report: (message: string) => void
  /** Clears what was shown, so that the next line begins at the margin. */
  readonly clear: () => void
}

/** One line that is rewritten on a terminal; nothing elsewhere, where it would stand among faults. */
export function openProgressLine(terminal: Terminal): ProgressLine {
  if (!terminal.errIsTTY) return { report: () => undefined, clear: () => undefined }
  let isShown = false
  return {
    report: (message) => {
      const line = escapeForTerminalOutput(message).replaceAll("\n", " ")
      // The last column stays free: a full line would wrap and could not be cleared.
      terminal.err(`\r\u001b[2K${line.slice(0, Math.max(1, terminal.columns - 1))}`)
      isShown = true
    },
    clear: () => {
      if (isShown) terminal.err("\r\u001b[2K")
      isShown = false
    },
  }
}

/** Whether a command may be done, and the name that was confirmed; null where none is asked for. */
type Confirmation = { readonly confirmed: string | null } | { readonly error: ErrorBody }

/** Who was asked interrupted it: nothing was begun. */
export class InterruptedBeforeStart extends Error {
  override readonly name = "InterruptedBeforeStart"
}

/**
 * Asks where something is lost by a command. What was confirmed goes with the request: whoever does the
 * command does not do it without.
 *
 * @throws InterruptedBeforeStart where the signal was aborted meanwhile
 */
export async function askConfirmation(
  { command, input, isConfirmed }: Invocation,
  { prompt }: Terminal,
  signal: AbortSignal,
): Promise<Confirmation> {
  if (command.irreversible === undefined) return { confirmed: null }
  const { field, says } = command.irreversible
  const name = String(input[field])
  if (isConfirmed) return { confirmed: name }
  const what = `${escapeForTerminalOutput(`${command.name} ${name}`)}: ${says}.`
  if (prompt === undefined) return notConfirmed(`${what} Say that it is meant, with --yes`)
  const typed = await prompt(
    `${what}\nType ${escapeForTerminalOutput(name)} to go on: `,
    signal,
  ).catch((error: unknown) => {
    throw signal.aborted && error === signal.reason ? new InterruptedBeforeStart() : error
  })
  if (typed.trim() === name.trim()) return { confirmed: name }
  return notConfirmed(`that is not ${escapeForTerminalOutput(name)}: nothing was done`)
}

const notConfirmed = (message: string) => ({ error: { error: USAGE, message } })
