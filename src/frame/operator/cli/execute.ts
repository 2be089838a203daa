/**
 * The command line from its words to its exit code: 0 done, 1 refused, 2 wrong usage, 130
 * interrupted. With `--json` standard output carries exactly one JSON document, whatever happens.
 */
import { userInfo } from "node:os"
import type { OperatorAnswer, OperatorRequest, ErrorBody } from "../protocol.ts"
import { isRow, USAGE } from "../protocol.ts"
import type { Following } from "./client.ts"
import { askOperation, onSocket, Refused, ServerGone } from "./client.ts"
import type { Shell } from "./completion.ts"
import { completionOf } from "./completion.ts"
import type { Terminal } from "./terminal.ts"
import { confirmationOf, progressLine, NothingBegun, harmless } from "./terminal.ts"
import type { Command, LocalWork, MoveCommand } from "../commands.ts"
import { renderFindings } from "./finding.ts"
import { openOutFile, CannotWrite } from "./out-file.ts"
import type { Host } from "./host.ts"
import type { Invocation } from "./program.ts"
import { parseWords, MORE_HELP, wordOfField } from "./program.ts"
import type { Input, CommandSpec } from "./command.ts"

/**
 * Runs a command line.
 *
 * @param words what stands behind the program's name
 * @param signal aborted by Ctrl-C: the command stops waiting and leaves nothing half-written
 * @param giveUpMs how long after that it may take to close what it opened, milliseconds; then it is
 * left, and nothing more may be expected of it but that the process exits
 * @returns the exit code
 */
export async function runCommandLine(
  words: readonly string[],
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
  giveUpMs = GIVE_UP_MS,
): Promise<number> {
  const parsed = parseWords(host.catalogue, words, terminal.columns)
  if (parsed.kind === "help") {
    terminal.out(parsed.text)
    return DONE
  }
  if (parsed.kind === "usage") {
    terminal.err(parsed.text)
    if (asksForJson(words)) printJson(terminal, { error: USAGE, message: parsed.reason })
    return WRONG_USAGE
  }
  const { invocation } = parsed
  try {
    const work = perform(invocation, host, terminal, signal)
    // A server stops in a time of its own, and says what it could not bring to its end.
    if (invocation.command.does === "start") return await work
    return await soonAfterAbort(work, signal, giveUpMs)
  } catch (error) {
    return await failed(error, invocation, terminal, signal)
  }
}

/** Whether words that could not be read ask for JSON. */
function asksForJson(words: readonly string[]): boolean {
  // There it names a file.
  if (words[0] === "bench") return false
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
  switch (command.does) {
    case "start":
      return host.start({
        demo: input["demo"] === true,
        week: input["week"] !== false,
        processes: (input["processes"] ?? 1) as number | "auto",
      })
    case "operation":
      return operate(invocation, host, terminal, signal)
    case "local":
      return workHere(invocation, host, terminal, signal)
    case "move":
      return move(invocation, host, terminal, signal)
    case "bench":
      return host.bench(benchWords(input))
    case "doctor":
      return examine(invocation, host, terminal, signal)
    case "config":
      return showSettings(invocation, host, terminal)
    case "completion":
      terminal.out(completionOf(host.catalogue, input["shell"] as Shell))
      return DONE
  }
}

/** What is declared behind a command. */
async function declared<D extends Command["does"]>(
  host: Host,
  does: D,
  name: string,
): Promise<Extract<Command, { does: D }>> {
  const found = (await host.commands()).find((one) => one.does === does && one.name === name)
  if (found === undefined) throw new Error(`${name} stands in the catalogue and is not declared`)
  return found as Extract<Command, { does: D }>
}

/** Prints the settings; beside a running server also its own, which it was started with. */
async function showSettings({ json }: Invocation, host: Host, terminal: Terminal): Promise<number> {
  const { own, server } = await host.settings()
  const values = new Map(server?.map(({ name, value }) => [name, value]))
  const settings = own.map((one) =>
    server === null ? { ...one } : { ...one, server: values.get(one.name) ?? null },
  )
  if (json) printJson(terminal, { settings })
  else terminal.out((await import("./render.ts")).renderTable(settings, terminal, "settings"))
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
  invocation: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { command, out, json } = invocation
  const asked = await confirmationOf(invocation, terminal, signal)
  if ("error" in asked) return refused(asked.error, json, terminal)
  const isSecret = command.hasSecretFile === true || command.isPrivate === true
  const file = out === null || out === "-" ? null : await openOutFile(out, isSecret)
  const progress = progressLine(terminal)
  const send = async (piece: Uint8Array) => {
    signal.throwIfAborted()
    if (file === null) terminal.out(piece)
    else await file.write(piece)
  }
  try {
    const request = requestOf(invocation, file === null ? null : out, terminal)
    const following = {
      progress: terminal.errIsTTY ? progress.report : undefined,
      send: out === null ? undefined : send,
      signal,
    }
    const answer = await ask(host, { ...request, confirmed: asked.confirmed }, following).finally(
      progress.end,
    )
    if ("error" in answer) return refused(inWordsOf(command, answer.error), json, terminal)
    await file?.keep(signal)
    const say = out === "-" ? terminal.err : terminal.out
    const { result } = answer
    if (!json) say(isRow(result) ? String(result["text"]) : "")
    else printJson(terminal, file === null || !isRow(result) ? result : { ...result, file: out })
    return exitCodeOf(command, result)
  } finally {
    await file?.discard()
  }
}

function exitCodeOf({ isVerdict }: Invocation["command"], result: unknown): number {
  return isVerdict !== true || (isRow(result) && result["ok"] === true) ? DONE : REFUSED
}

/** Does the work of a command here, and prints its answer. */
async function workHere(
  { command, input, json }: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { run, render, input: schema } = await host.local(command)
  const progress = progressLine(terminal)
  const work: LocalWork<unknown> = {
    input: await schema.parseAsync(input),
    progress: progress.report,
    signal,
    ask: async (operation, asked, take) => {
      const decoder = new TextDecoder()
      const send = async (piece: Uint8Array) => take(decoder.decode(piece, { stream: true }))
      const request = { operation, input: asked, actor: systemUser(), reason: null }
      const answer = await ask(host, request, { progress: progress.report, send, signal })
      if ("error" in answer) throw new Refused(answer.error)
      return answer.result
    },
  }
  const result = await run(work).finally(progress.end)
  if (json) printJson(terminal, result)
  else terminal.out(render(result, terminal))
  return exitCodeOf(command, result)
}

/** Moves the installation and prints how that ended. A server that would be in the way is left alone. */
async function move(
  { command, input, json }: Invocation,
  host: Host,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { render, isBeside }: MoveCommand = await declared(host, "move", command.name)
  if (isBeside !== true && (await host.livingServer()) !== null) {
    const message =
      "A server works on this installation: stop it first, so that nothing new is written meanwhile."
    return refused({ error: "conflict", message }, json, terminal)
  }
  const progress = progressLine(terminal)
  const talk = { progress: progress.report, signal }
  const result = await host.move(command.name, input, talk).finally(progress.end)
  if (json) printJson(terminal, result)
  else terminal.out(render(result, terminal))
  return result.ok ? DONE : REFUSED
}

function requestOf(
  { command, input, actor, reason, json }: Invocation,
  file: string | null,
  { isTTY, columns }: Terminal,
): OperatorRequest {
  const uploads = command.arguments.find(({ form }) => form === "file")?.field
  return {
    operation: command.name,
    input,
    actor: actor ?? systemUser(),
    reason,
    ...(uploads !== undefined && { uploads }),
    ...(!json && { page: { isTTY, columns, file } }),
  }
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

/** Asks the living server; without one the same app, on stores that are opened here. */
async function ask(
  host: Host,
  request: OperatorRequest,
  following: Following,
): Promise<OperatorAnswer> {
  const living = await host.livingServer()
  following.signal.throwIfAborted()
  if (living !== null) return askOperation(onSocket(living.socketPath), request, following)
  // A server says so itself; here no store need be opened to see that words are wrong.
  const { input, begins } = await declared(host, "operation", request.operation)
  const { parse } = await import("../../routes/checks/7-values.ts")
  const { [USAGE]: fault } = parse(input, request.input).fields
  if (fault !== undefined) return { error: { error: USAGE, message: fault } }
  const { send, close } = await host.openLocal({ mayMake: begins === true })
  try {
    return await untilAborted(askOperation(send, request, following), following.signal)
  } finally {
    await close()
  }
}

/** The words for the benchmarks. No file's name is taken for an option, whatever it begins with. */
function benchWords({ names, json, folder, data, most, store }: Input): readonly string[] {
  const options = Object.entries({ json, out: folder, data, most, store })
  const given = options.filter(([, value]) => value !== undefined)
  const words = Array.isArray(names) ? names.map(String) : []
  return [...given.map(([name, value]) => `--${name}=${String(value)}`), "--", ...words]
}

/** Exit codes: done, refused, wrong usage. */
const [DONE, REFUSED, WRONG_USAGE] = [0, 1, 2] as const
/** Exit code of what was interrupted, as shells have it for SIGINT. */
const INTERRUPTED = 130

/** Prints why something was not done. Words that cannot stand together are wrong usage. */
function refused(body: ErrorBody, json: boolean, terminal: Terminal): number {
  const isUsage = body.error === USAGE
  if (isUsage) terminal.err(`error: ${harmless(body.message)}\n${MORE_HELP}\n`)
  else if (!json) terminal.err(`${harmless(body.message)}\n`)
  if (json) printJson(terminal, body)
  return isUsage ? WRONG_USAGE : REFUSED
}

/** Prints what ended a command, and tells its exit code. */
async function failed(
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
function printJson(terminal: Terminal, document: unknown): void {
  terminal.out(`${JSON.stringify(document, null, terminal.isTTY ? 2 : undefined)}\n`)
}

/** What an interrupted command opened is closed within so long; it is left before the program is. */
const GIVE_UP_MS = 9_000

/** The value of a promise, or the reason of the signal where that comes first. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return unlessEnded(promise, signal, (end) => end())
}

/** The value of a promise, or the reason of the signal where that was aborted so long before. */
async function soonAfterAbort<T>(
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

/** The first broken place, which a fault of a file carries. */
function placeOf(error: Error): object {
  return "place" in error ? { place: error.place } : {}
}

/** An error whose sentence tells an operator what to do; null where it is none of these. */
async function plainBodyOf(error: unknown): Promise<ErrorBody | null> {
  if (!(error instanceof Error)) return null
  const { name, message } = error
  // The embedded PostgreSQL has its own class of this name.
  if (name === "StartupFault") return { error: "startup", message }
  if (error instanceof Refused) return error.body
  if (name === "FileFault") return { error: "not_as_it_was", message, ...placeOf(error) }
  if (name === "RulesFault") return { error: "no_rules", message }
  if (name === "NoFile") return { error: "cannot_read", message }
  if (name === "NoSuchCompany") return { error: "not_found", message }
  if ("syscall" in error && "path" in error && "code" in error) {
    return {
      error: "cannot_read",
      message: `${String(error.path)} cannot be read (${String(error.code)}).`,
    }
  }
  if (error instanceof ServerGone) return { error: "unavailable", message }
  if (error instanceof CannotWrite) return { error: "cannot_write", message }
  // Others are of the stores, which are there by then.
  return (await import("../run-operation.ts")).errorBodyOf(error)
}

/** The faults of an input in the words of its command; words that cannot stand together are wrong usage. */
export function inWordsOf(command: CommandSpec, body: ErrorBody): ErrorBody {
  const { error, fields } = body
  if (error !== "validation" || !isRow(fields)) return body
  if (typeof fields[USAGE] === "string") return { error: USAGE, message: fields[USAGE] }
  const faults = Object.entries(fields).map(([path, fault]) => {
    const [field = path] = path.split(".")
    const text = String(fault)
    const behind = `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/\.$/, "")
    return `${wordOfField(command, field)}: ${behind}`
  })
  return { ...body, message: `This is not valid: ${faults.join("; ")}` }
}
