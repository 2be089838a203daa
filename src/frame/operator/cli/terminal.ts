/** Terminal output, prompts and progress. */
import type { ErrorBody } from "../protocol.ts"
import { USAGE } from "../protocol.ts"
import type { Invocation } from "./command-parser.ts"

/** Standard output and standard error, as the command line uses them. */
export interface Terminal {
  /** Writes text or a piece of a binary file to standard output. */
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
   * Asks the user for a line; empty if the input ends. Absent if there is no terminal.
   *
   * @throws the signal's reason
   */
  readonly prompt?: (question: string, signal: AbortSignal) => Promise<string>
}

const DEFAULT_COLUMNS = 80

/** The terminal of this process. A closed pipe (`… | head`) is not an error. */
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

/** Reads the line that the user types after a question. The terminal handles editing and signals. */
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

/** Escapes characters that could move the cursor or reverse the line. */
export function escapeForTerminalOutput(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return character === "\n" ? "\n" : `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
}

export interface ProgressLine {
  /** Shows the current step. */
  readonly report: (message: string) => void
  /** Clears the line, so that the next output begins at the margin. */
  readonly clear: () => void
}

/** Rewrites one line on a terminal; shows nothing elsewhere, because it would mix with errors. */
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

/** The confirmed name (null if none was needed), or the error. */
type Confirmation = { readonly confirmed: string | null } | { readonly error: ErrorBody }

/** The user interrupted the confirmation: nothing was done. */
export class InterruptedBeforeStart extends Error {
  override readonly name = "InterruptedBeforeStart"
}

/**
 * Asks for confirmation of an irreversible command. The confirmed name is part of the request: the server
 * checks it again.
 *
 * @throws InterruptedBeforeStart if the signal was aborted during the prompt
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
  if (prompt === undefined) return notConfirmed(`${what} Confirm it with --yes`)
  const typed = await prompt(
    `${what}\nType ${escapeForTerminalOutput(name)} to continue: `,
    signal,
  ).catch((error: unknown) => {
    throw signal.aborted && error === signal.reason ? new InterruptedBeforeStart() : error
  })
  if (typed.trim() === name.trim()) return { confirmed: name }
  return notConfirmed(`the input does not match ${escapeForTerminalOutput(name)}: nothing was done`)
}

const notConfirmed = (message: string) => ({ error: { error: USAGE, message } })
