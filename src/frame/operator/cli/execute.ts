/**
 * The command line from its words to its exit code: 0 done, 1 refused, 2 wrong usage, 130
 * interrupted. With `--json` standard output carries exactly one JSON document, whatever happens.
 */
import { userInfo } from "node:os"
import type { AdminAnswer, AdminRequest, ErrorBody } from "../protocol.ts"
import type { Talk } from "../run-operation.ts"
import { runOperation } from "../run-operation.ts"
import { askServer } from "./admin-client.ts"
import { BENCH_COMMAND, benchWords } from "./bench-command.ts"
import type { LocalCommand, LocalWork, MoveCommand, OperationCommand } from "./command.ts"
import { Refused, plainBodyOf } from "./error-bodies.ts"
import { renderFindings } from "./finding.ts"
import type { Host } from "./host.ts"
import { openOutFile } from "./out-file.ts"
import { progressLine } from "./progress.ts"
import type { Invocation } from "./program.ts"
import { parseWords } from "./program.ts"
import { isRow, renderResult, renderTable } from "./render.ts"
import type { Terminal } from "./terminal.ts"
import { harmless } from "./terminal.ts"

const DONE = 0
const REFUSED = 1
const WRONG_USAGE = 2
const INTERRUPTED = 130

/**
 * Runs a command line.
 *
 * @param words what stands behind the program's name
 * @param signal aborted by Ctrl-C: the command stops waiting and leaves nothing half-written
 * @returns the exit code
 */
export async function runCommandLine(
  words: readonly string[],
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const parsed = parseWords(words, terminal.columns)
  if (parsed.kind === "help") {
    terminal.out(parsed.text)
    return DONE
  }
  if (parsed.kind === "usage") {
    terminal.err(parsed.text)
    if (asksForJson(words)) printJson(terminal, { error: "usage", message: parsed.reason })
    return WRONG_USAGE
  }
  const { invocation } = parsed
  try {
    return await perform(invocation, host, terminal, signal)
  } catch (error) {
    return failed(error, invocation, terminal, signal)
  }
}

/** Whether words that could not be read ask for JSON. */
function asksForJson(words: readonly string[]): boolean {
  // There it names a file.
  if (words[0] === BENCH_COMMAND.name) return false
  const end = words.indexOf("--")
  return words.slice(0, end === -1 ? undefined : end).includes("--json")
}

async function perform(
  invocation: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { command, input } = invocation
  if (command.does === "start") return host.start({ demo: input["demo"] === true })
  if (command.does === "operation") return operate(command, invocation, host, terminal, signal)
  if (command.does === "local") return workHere(command, invocation, host, terminal, signal)
  if (command.does === "move") return move(command, invocation, host, terminal, signal)
  if (command.does === "bench") return host.bench(benchWords(input))
  if (command.does === "doctor") return examine(invocation, host, terminal, signal)
  return showSettings(invocation, host, terminal)
}

/** Prints the settings; beside a running server also its own, which it was started with. */
async function showSettings({ json }: Invocation, host: Host, terminal: Terminal): Promise<number> {
  const { own, server } = await host.settings()
  const values = new Map(server?.map(({ name, value }) => [name, value]))
  const settings = own.map((one) =>
    server === null ? { ...one } : { ...one, server: values.get(one.name) ?? null },
  )
  if (json) printJson(terminal, { settings })
  else terminal.out(renderTable(settings, terminal, "settings"))
  return DONE
}

/** Prints what was found, a line each, and whether all of it serves. */
async function examine(
  { json }: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const findings = await untilAborted(host.examine(), signal)
  const ok = findings.every(({ state }) => state !== "wrong")
  if (json) printJson(terminal, { ok, findings })
  else terminal.out(renderFindings(findings))
  return ok ? DONE : REFUSED
}

/** Runs an operation and prints its answer. Its file, if it has one, is kept only on success. */
async function operate(
  command: OperationCommand,
  invocation: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { out, json } = invocation
  const file = out === null || out === "-" ? null : await openOutFile(out, command.hasSecretFile)
  const progress = progressLine(terminal)
  const send = async (chunk: string | Uint8Array) => {
    signal.throwIfAborted()
    if (out === null) throw new Error(`${command.name} sent a file and takes none`)
    if (file === null) terminal.out(chunk)
    else await file.write(chunk)
  }
  try {
    const talk = { progress: progress.report, send, signal }
    const answer = await ask(host, requestOf(invocation), talk).finally(progress.end)
    if ("error" in answer) return refused(answer.error, json, terminal)
    if (file !== null) {
      signal.throwIfAborted()
      await file.keep()
    }
    const { result } = answer
    const shown = file === null || !isRow(result) ? result : { ...result, file: out }
    if (json) printJson(terminal, shown)
    else {
      const text = (command.render ?? renderResult)(shown, terminal)
      if (out === "-") terminal.err(text)
      else terminal.out(text)
    }
    return command.isWell?.(result) === false ? REFUSED : DONE
  } finally {
    await file?.discard()
  }
}

/** Does the work of a command here, and prints its answer. */
async function workHere(
  command: LocalCommand,
  { input, json }: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const progress = progressLine(terminal)
  const work: LocalWork = {
    input,
    progress: progress.report,
    signal,
    ask: async (operation, asked, take) => {
      const send = async (chunk: string | Uint8Array) => {
        if (typeof chunk !== "string") throw new Error(`${operation} sent bytes instead of text`)
        await take(chunk)
      }
      const request = { operation, input: asked, actor: systemUser(), reason: null }
      const answer = await ask(host, request, { progress: progress.report, send, signal })
      if ("error" in answer) throw new Refused(answer.error)
      return answer.result
    },
  }
  const result = await command.run(work).finally(progress.end)
  if (json) printJson(terminal, result)
  else terminal.out(command.render(result, terminal))
  return command.isWell?.(result) === false ? REFUSED : DONE
}

/** Moves the installation and prints how that ended. A server that runs on it is left alone. */
async function move(
  command: MoveCommand,
  { input, json }: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const living = await host.livingServer()
  if (living !== null) {
    const message =
      "A server works on this installation: stop it first, so that nothing new is written meanwhile."
    return refused({ error: "conflict", message }, json, terminal)
  }
  const progress = progressLine(terminal)
  const talk = { progress: progress.report, signal }
  const result = await host.move(command.name, input, talk).finally(progress.end)
  if (json) printJson(terminal, result)
  else terminal.out(command.render(result, terminal))
  return result.ok ? DONE : REFUSED
}

function requestOf({ command, input, actor, reason }: Invocation): AdminRequest {
  return { operation: command.name, input, actor: actor ?? systemUser(), reason }
}

/** The user of the operating system by name; by number where it has none. */
function systemUser(): string {
  try {
    return userInfo().username
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined
    if (code !== "ERR_SYSTEM_ERROR" && code !== "ENOENT") throw error
    return String(process.getuid?.() ?? "unknown")
  }
}

/** Sends the request to the living server; without one opens the stores here. */
async function ask(host: Host, request: AdminRequest, talk: Talk): Promise<AdminAnswer> {
  const living = await host.livingServer()
  talk.signal.throwIfAborted()
  if (living !== null) return askServer(living.socketPath, request, talk)
  const stores = await host.openLocal()
  try {
    const { operations, ports } = stores
    talk.signal.throwIfAborted()
    const answer = runOperation(operations, ports, request, talk)
    return asSent(await untilAborted(answer, talk.signal))
  } finally {
    await stores.close()
  }
}

/** An answer as it would have come through the socket, so that both ways print the same. */
function asSent(answer: AdminAnswer): AdminAnswer {
  return JSON.parse(JSON.stringify(answer)) as AdminAnswer
}

/** The value of a promise, or the reason of the signal where that comes first. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason as Error)
  signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}

/** Prints why something was not done. */
function refused(body: ErrorBody, json: boolean, terminal: Terminal): number {
  if (json) printJson(terminal, body)
  else terminal.err(`${harmless(body.message)}\n`)
  return REFUSED
}

function failed(
  error: unknown,
  { command, json }: Invocation,
  terminal: Terminal,
  signal: AbortSignal,
): number {
  const isAbort = signal.aborted && error === signal.reason
  if (isAbort) {
    const isChange = command.does === "operation" && command.changes === true
    const message = isChange
      ? "Interrupted: look whether it was done before giving it again."
      : command.does === "move"
        ? "Interrupted: give the same command again, and it goes on where it stopped."
        : "Interrupted before it was done."
    if (json) printJson(terminal, { error: "interrupted", message })
    else terminal.err(`${message}\n`)
    return INTERRUPTED
  }
  const message = error instanceof Error ? error.message : String(error)
  const body = plainBodyOf(error)
  if (body !== null) refused(body, json, terminal)
  else {
    const stack = error instanceof Error ? (error.stack ?? message) : message
    terminal.err(`This is a fault of the program:\n${stack}\n`)
    if (json) printJson(terminal, { error: "internal", message })
  }
  return signal.aborted ? INTERRUPTED : REFUSED
}

function printJson(terminal: Terminal, document: unknown): void {
  terminal.out(`${JSON.stringify(document, null, terminal.isTTY ? 2 : undefined)}\n`)
}
