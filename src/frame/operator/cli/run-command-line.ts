/**
 * Runs the command line. Exit codes: 0 done, 1 rejected, 2 wrong usage, 130 interrupted. With `--json` standard
 * output has exactly one JSON document in every case.
 */
import { userInfo } from "node:os"
import type { OperatorAnswer, OperatorRequest, ErrorBody } from "../protocol.ts"
import { isResultRow, USAGE } from "../protocol.ts"
import type { OperationObserver } from "./client.ts"
import { callOperation, sendOverSocket, CommandRefused, ServerGone } from "./client.ts"
import type { CompletionShell } from "./completion.ts"
import { completionScript } from "./completion.ts"
import type { Terminal } from "./terminal.ts"
import {
  askConfirmation,
  openProgressLine,
  InterruptedBeforeStart,
  escapeForTerminalOutput,
} from "./terminal.ts"
import type { OperatorCommand, LocalCommandContext, MaintenanceCommand } from "../commands.ts"
import { renderFindings } from "./doctor-finding.ts"
import { openOutFile, CannotWrite } from "./out-file.ts"
import type { CommandLineHost } from "./command-line-host.ts"
import type { Invocation } from "./command-parser.ts"
import { parseCommandLine, HELP_HINT, commandWordOf } from "./command-parser.ts"
import type { OperationInput, CommandSpec } from "./command-spec.ts"

/**
 * Runs a command line.
 *
 * @param words the words after the program's name
 * @param signal aborted by Ctrl-C: the command stops waiting and leaves no partial file
 * @param giveUpMs how long closing may take after that, milliseconds; then the process should exit
 * @returns the exit code
 */
export async function runCommandLine(
  words: readonly string[],
  host: CommandLineHost,
  terminal: Terminal,
  signal: AbortSignal,
  giveUpMs = CLOSE_TIMEOUT_MS,
): Promise<number> {
  const parsed = parseCommandLine(host.catalogue, words, terminal.columns)
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
    const work = runInvocation(invocation, host, terminal, signal)
    // A server has its own stop deadline, and reports what it could not finish.
    if (invocation.command.does === "start") return await work
    return await untilAbortTimeout(work, signal, giveUpMs)
  } catch (error) {
    return await printFailure(error, invocation, terminal, signal)
  }
}

/** Whether words with a usage error contain `--json`. */
function asksForJson(words: readonly string[]): boolean {
  // The benchmarks' `--json` names a file.
  if (words[0] === "bench") return false
  const end = words.indexOf("--")
  return words.slice(0, end === -1 ? undefined : end).includes("--json")
}

async function runInvocation(
  invocation: Invocation,
  host: CommandLineHost,
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
      return runServerOperation(invocation, host, terminal, signal)
    case "local":
      return runLocalCommand(invocation, host, terminal, signal)
    case "move":
      return runMaintenance(invocation, host, terminal, signal)
    case "bench":
      return host.runBenchmarks(benchArguments(input))
    case "doctor":
      return runDoctor(invocation, host, terminal, signal)
    case "config":
      return showSettings(invocation, host, terminal)
    case "completion":
      terminal.out(completionScript(host.catalogue, input["shell"] as CompletionShell))
      return DONE
  }
}

async function findDeclared<D extends OperatorCommand["does"]>(
  host: CommandLineHost,
  does: D,
  name: string,
): Promise<Extract<OperatorCommand, { does: D }>> {
  const found = (await host.commands()).find((one) => one.does === does && one.name === name)
  if (found === undefined) throw new Error(`${name} is in the catalogue and not declared`)
  return found as Extract<OperatorCommand, { does: D }>
}

/** Prints the settings, with those of a running server in another column. */
async function showSettings(
  { json }: Invocation,
  host: CommandLineHost,
  terminal: Terminal,
): Promise<number> {
  const { own, server } = await host.effectiveSettings()
  const values = new Map(server?.map(({ name, value }) => [name, value]))
  const settings = own.map((one) =>
    server === null ? { ...one } : { ...one, server: values.get(one.name) ?? null },
  )
  if (json) printJson(terminal, { settings })
  else terminal.out((await import("./render.ts")).renderTable(settings, terminal, "settings"))
  return DONE
}

/** Prints the findings; the exit code is 1 if one is `wrong`. */
async function runDoctor(
  { json }: Invocation,
  host: CommandLineHost,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const findings = await untilAborted(host.runDoctor(), signal)
  const ok = findings.every(({ state }) => state !== "wrong")
  if (json) printJson(terminal, { ok, findings })
  else terminal.out(renderFindings(findings))
  return ok ? DONE : REFUSED
}

/** Runs an operation and prints its answer. Its file, if any, is kept only on success. */
async function runServerOperation(
  invocation: Invocation,
  host: CommandLineHost,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { command, out, json } = invocation
  const confirmation = await askConfirmation(invocation, terminal, signal)
  if ("error" in confirmation) return printRefusal(confirmation.error, json, terminal)
  const isSecret = command.hasSecretFile === true || command.isPrivate === true
  const file = out === null || out === "-" ? null : await openOutFile(out, isSecret)
  const progress = openProgressLine(terminal)
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
    const answer = await callServerOrLocal(
      host,
      { ...request, confirmation: confirmation.confirmed },
      following,
    ).finally(progress.clear)
    if ("error" in answer)
      return printRefusal(toCommandError(command, answer.error), json, terminal)
    await file?.commit(signal)
    const print = out === "-" ? terminal.err : terminal.out
    const { result } = answer
    if (!json) print(isResultRow(result) ? String(result["text"]) : "")
    else
      printJson(terminal, file === null || !isResultRow(result) ? result : { ...result, file: out })
    return exitCodeOf(command, result)
  } finally {
    await file?.discard()
  }
}

function exitCodeOf({ isVerdict }: Invocation["command"], result: unknown): number {
  return isVerdict !== true || (isResultRow(result) && result["ok"] === true) ? DONE : REFUSED
}

/** Runs a command in this process and prints its answer. */
async function runLocalCommand(
  { command, input, json }: Invocation,
  host: CommandLineHost,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { run, render, input: schema } = await host.loadLocalCommand(command)
  const progress = openProgressLine(terminal)
  const work: LocalCommandContext<unknown> = {
    input: await schema.parseAsync(input),
    progress: progress.report,
    signal,
    callOperation: async (operation, operationInput, take) => {
      const decoder = new TextDecoder()
      const send = async (piece: Uint8Array) => take(decoder.decode(piece, { stream: true }))
      const request = { operation, input: operationInput, actor: systemUser(), reason: null }
      const answer = await callServerOrLocal(host, request, {
        progress: progress.report,
        send,
        signal,
      })
      if ("error" in answer) throw new CommandRefused(answer.error)
      return answer.result
    },
  }
  const result = await run(work).finally(progress.clear)
  if (json) printJson(terminal, result)
  else terminal.out(render(result, terminal))
  return exitCodeOf(command, result)
}

/** Runs a maintenance command and prints its result; refuses while a server that it conflicts with runs. */
async function runMaintenance(
  { command, input, json }: Invocation,
  host: CommandLineHost,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { render, canRunWithServer }: MaintenanceCommand = await findDeclared(
    host,
    "move",
    command.name,
  )
  if (canRunWithServer !== true && (await host.runningServer()) !== null) {
    const message =
      "A server uses this installation. Stop it first, so that it writes nothing in the meantime."
    return printRefusal({ error: "conflict", message }, json, terminal)
  }
  const progress = openProgressLine(terminal)
  const talk = { progress: progress.report, signal }
  const result = await host.runMaintenance(command.name, input, talk).finally(progress.clear)
  if (json) printJson(terminal, result)
  else terminal.out(render(result, terminal))
  return result.ok ? DONE : REFUSED
}

function requestOf(
  { command, input, actor, reason, json }: Invocation,
  file: string | null,
  { isTTY, columns }: Terminal,
): OperatorRequest {
  const uploadField = command.arguments.find(({ form }) => form === "file")?.field
  return {
    operation: command.name,
    input,
    actor: actor ?? systemUser(),
    reason,
    ...(uploadField !== undefined && { uploadField }),
    ...(!json && { page: { isTTY, columns, file } }),
  }
}

/** Returns the name of the system user, or the number if it has no name. */
function systemUser(): string {
  try {
    return userInfo().username
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined
    if (code !== "ERR_SYSTEM_ERROR" && code !== "ENOENT") throw error
    return String(process.getuid?.() ?? "unknown")
  }
}

/** Calls the running server; without one, the same app on stores opened in this process. */
async function callServerOrLocal(
  host: CommandLineHost,
  request: OperatorRequest,
  following: OperationObserver,
): Promise<OperatorAnswer> {
  const running = await host.runningServer()
  following.signal.throwIfAborted()
  if (running !== null) return callOperation(sendOverSocket(running.socketPath), request, following)
  // Without a server, check the input before opening the stores.
  const { input, createsInstallation } = await findDeclared(host, "operation", request.operation)
  const { parseFields } = await import("../../routes/checks/7-values.ts")
  const { [USAGE]: fault } = parseFields(input, request.input).fields
  if (fault !== undefined) return { error: { error: USAGE, message: fault } }
  const { send, close } = await host.openInProcess({ mayMake: createsInstallation === true })
  try {
    return await untilAborted(callOperation(send, request, following), following.signal)
  } finally {
    await close()
  }
}

/** Returns the arguments of the benchmarks. File names come after `--`, so none is read as an option. */
function benchArguments({
  names,
  json,
  folder,
  data,
  most,
  store,
}: OperationInput): readonly string[] {
  const options = Object.entries({ json, out: folder, data, most, store })
  const given = options.filter(([, value]) => value !== undefined)
  const words = Array.isArray(names) ? names.map(String) : []
  return [...given.map(([name, value]) => `--${name}=${String(value)}`), "--", ...words]
}

/** Exit codes: done, rejected, wrong usage. */
const [DONE, REFUSED, WRONG_USAGE] = [0, 1, 2] as const
/** Exit code after an interrupt, as shells use it for SIGINT. */
const INTERRUPTED = 130

/** Prints a refusal. Conflicting options are wrong usage. */
function printRefusal(body: ErrorBody, json: boolean, terminal: Terminal): number {
  const isUsage = body.error === USAGE
  if (isUsage) terminal.err(`error: ${escapeForTerminalOutput(body.message)}\n${HELP_HINT}\n`)
  else if (!json) terminal.err(`${escapeForTerminalOutput(body.message)}\n`)
  if (json) printJson(terminal, body)
  return isUsage ? WRONG_USAGE : REFUSED
}

/** Prints an error and returns the exit code. */
async function printFailure(
  error: unknown,
  { command, json }: Invocation,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const isUnbegun = error instanceof InterruptedBeforeStart
  const isAbort = signal.aborted && error === signal.reason
  if (isUnbegun || isAbort) {
    const message = isUnbegun
      ? "Interrupted before the confirmation. Nothing was done."
      : command.changes
        ? "Interrupted. Check whether the command took effect before you run it again."
        : command.does === "move"
          ? "Interrupted. Run the same command again to continue."
          : "Interrupted before the command was done."
    if (json) printJson(terminal, { error: "interrupted", message })
    else terminal.err(`${message}\n`)
    return INTERRUPTED
  }
  const message = error instanceof Error ? error.message : String(error)
  const body = await errorBodyFor(error)
  if (body !== null) printRefusal(body, json, terminal)
  else {
    const stack = error instanceof Error ? (error.stack ?? message) : message
    terminal.err(`This is a bug in the program:\n${stack}\n`)
    if (json) printJson(terminal, { error: "internal", message })
  }
  return signal.aborted ? INTERRUPTED : REFUSED
}

/** Prints the JSON document of `--json`. */
function printJson(terminal: Terminal, document: unknown): void {
  terminal.out(`${JSON.stringify(document, null, terminal.isTTY ? 2 : undefined)}\n`)
}

/** How long an interrupted command may take to close what it opened. */
const CLOSE_TIMEOUT_MS = 9_000

/** Resolves like the promise, or rejects with the signal's reason if that aborts first. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return unlessEnded(promise, signal, (end) => end())
}

/** Resolves like the promise, or rejects with the signal's reason some time after that aborts. */
async function untilAbortTimeout<T>(
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

/** Resolves like the promise, unless `onceAborted` ends the wait with the signal's reason. */
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

/** Returns the first corrupt place that an error about a file names. */
function corruptionDetails(error: Error): object {
  if ("place" in error) return { place: error.place }
  return "corruption" in error ? { place: error.corruption } : {}
}

/** Returns an error that an operator can act on; null for a bug in the program. */
async function errorBodyFor(error: unknown): Promise<ErrorBody | null> {
  if (!(error instanceof Error)) return null
  const { name, message } = error
  // The embedded PostgreSQL has its own class with this name.
  if (name === "StartupFault") return { error: "startup", message }
  if (error instanceof CommandRefused) return error.body
  if (name === "HistoryFileFault")
    return { error: "not_as_it_was", message, ...corruptionDetails(error) }
  if (name === "RulesFault") return { error: "no_rules", message }
  if (name === "UnreadableFile") return { error: "cannot_read", message }
  if (name === "NoSuchCompany") return { error: "not_found", message }
  if ("syscall" in error && "path" in error && "code" in error) {
    return {
      error: "cannot_read",
      message: `${String(error.path)} cannot be read (${String(error.code)}).`,
    }
  }
  if (error instanceof ServerGone) return { error: "unavailable", message }
  if (error instanceof CannotWrite) return { error: "cannot_write", message }
  // The remaining errors come from the stores, so their module is loaded already.
  return (await import("../run-operation.ts")).operatorErrorBody(error)
}

/** Names the faults of an input by the words of its command; conflicting options are wrong usage. */
export function toCommandError(command: CommandSpec, body: ErrorBody): ErrorBody {
  const { error, fields } = body
  if (error !== "validation" || !isResultRow(fields)) return body
  if (typeof fields[USAGE] === "string") return { error: USAGE, message: fields[USAGE] }
  const faults = Object.entries(fields).map(([path, fault]) => {
    const [field = path] = path.split(".")
    const text = String(fault)
    const reason = `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/\.$/, "")
    return `${commandWordOf(command, field)}: ${reason}`
  })
  return { ...body, message: `This is not valid: ${faults.join("; ")}` }
}
