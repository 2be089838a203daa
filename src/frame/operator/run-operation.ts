/** Runs one operation for an operator, in the server or in the command line itself. */
import type { ZodType, core, z } from "zod"
import type { Position } from "../../../adapters/eventstore/port.ts"
import { DamagedStream, later } from "../../../adapters/eventstore/port.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import { newId } from "../kernel/ids.ts"
import { inWords } from "../calls/schema-words.ts"
import { wordOfField } from "./catalogue.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "./operation.ts"
import { OperatorRefused } from "./operation.ts"
import type { AdminRequest } from "./admin-request.ts"
import type { AdminAnswer, ErrorBody } from "./protocol.ts"
import { USAGE } from "./protocol.ts"
import { isRow } from "./cli/rows.ts"
import { DatabaseSilent, unlessSilent } from "./silence.ts"

/** How an operation reaches its operator while it works. */
export type Talk = Pick<AdminContext, "progress" | "send" | "signal">

/** Errors of the stores that say nothing about the command: it can be given again. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  "Unavailable",
  "Overloaded",
  "DeadlinePassed",
  "ClockUnsure",
])

/** Errors after which nobody knows whether the facts are stored. */
const UNKNOWN: ReadonlySet<string> = new Set(["OutcomeUnknown", "UnknownOutcome"])

/**
 * Runs the operation that a request names. What an operator can act on is an answer; every other
 * error is thrown: a fault, or the signal's reason.
 */
export async function runOperation(
  operations: readonly AdminOperation[],
  ports: AdminPorts,
  request: AdminRequest,
  talk: Talk,
): Promise<AdminAnswer> {
  const { operation: name, actor, reason } = request
  const found = operations.find((operation) => operation.name === name)
  if (found === undefined) {
    const message = `This server has no operation "${name}": it may be of another version.`
    return { error: { error: "unknown_operation", message } }
  }
  const input = await found.input.safeParseAsync(request.input, { error: operatorWords })
  if (!input.success) return { error: invalid(found.input, input.error) }
  const unsure = unconfirmed(found, request)
  if (unsure !== null) return { error: unsure }
  const cause = { command: newId("cmd"), actor, keyId: null, personId: null, reason }
  const done = await performed(found, { ports, cause }, input.data, talk)
  return "error" in done ? done : shownAs(found, done.result, request.page)
}

/** Does an operation whose input was checked, and tells what came of it. @throws as `runOperation` does */
export async function performed<I>(
  { run, isPatient }: Pick<AdminOperation<I>, "run" | "isPatient">,
  given: Pick<AdminContext, "ports" | "cause" | "within">,
  input: I,
  talk: Talk,
): Promise<{ readonly result: unknown } | { readonly error: ErrorBody }> {
  const { ports } = given
  const answered = new AbortController()
  const context = { ...given, ...talkUntil(talk, answered.signal) }
  const asked = async () =>
    heardByAll(ports, async (heard) => run({ ...context, ports: heard }, input))
  try {
    const result = await unlessSilent(ports, isPatient === true, asked())
    return { result: result === undefined ? null : result }
  } catch (error) {
    const body = errorBodyOf(silenceBehind(error, ports.silentSince()))
    if (body === null) throw error
    return { error: body }
  } finally {
    answered.abort()
  }
}

/** Why something is not done by which something is lost; null where nothing is, or it was confirmed. */
function unconfirmed(
  { name, irreversible }: AdminOperation,
  { input, confirmed }: AdminRequest,
): ErrorBody | null {
  if (irreversible === undefined) return null
  const named: unknown = isRow(input) ? input[irreversible.field] : undefined
  if (confirmed !== undefined && confirmed === named) return null
  const message = `${name}: ${irreversible.says}. Nobody confirmed it: say that it is meant, with --yes`
  return { error: USAGE, message }
}

/** The answer as it was asked for: in words where it is for people and the operation has its own. */
function shownAs(
  { render }: AdminOperation,
  result: unknown,
  page: AdminRequest["page"],
): AdminAnswer {
  if (page === undefined || render === undefined) return { result }
  const named = page.file === null || !isRow(result) ? result : { ...result, file: page.file }
  return { result: isRow(result) ? { ok: result["ok"] } : null, text: render(named, page) }
}

/** Why the fields of an input cannot stand together; null where they can, or where one is wrong. */
export async function usageFault(schema: ZodType, input: unknown): Promise<string | null> {
  const parsed = await schema.safeParseAsync(input)
  return parsed.success ? null : usageIn(parsed.error)
}

function usageIn({ issues }: z.ZodError): string | null {
  const [first] = issues.filter((issue) => issue.code === "custom" && issue.params?.["isUsage"])
  return first === undefined || issues.length > 1 ? null : first.message
}

/**
 * Runs an operator's command, and resolves once what it changed is in force in every process: whoever is
 * told so may rely on it, wherever he calls next.
 */
export async function heardByAll<T>(
  ports: AdminPorts,
  run: (ports: AdminPorts) => Promise<T>,
): Promise<T> {
  let last: Position | null = null
  const execute: AdminPorts["runner"]["execute"] = async (
    aggregate,
    stream,
    command,
    execution,
  ) => {
    const outcome = await ports.runner.execute(aggregate, stream, command, execution)
    if (outcome.accepted && outcome.facts.length > 0) last = laterOf(last, outcome.position)
    return outcome
  }
  try {
    return await run({ ...ports, runner: { ...ports.runner, execute } })
  } finally {
    if (last !== null) await ports.heardElsewhere(last)
  }
}

function laterOf(one: Position | null, other: Position | null): Position | null {
  if (one === null || other === null) return one ?? other
  return later(one, other)
}

/** A connection that was given up says less than since when the database does not answer. */
function silenceBehind(error: unknown, since: number | null): unknown {
  return since !== null && isConnectionFault(error) ? new DatabaseSilent(since) : error
}

/** Who was answered is told nothing more: what still runs then may stop. */
function talkUntil({ progress, send, signal }: Talk, answered: AbortSignal): Talk {
  return {
    progress: (message) => {
      if (!answered.aborted) progress(message)
    },
    send: async (chunk) => {
      answered.throwIfAborted()
      await send(chunk)
    },
    signal: AbortSignal.any([signal, answered]),
  }
}

/** An error in words that an operator can act on; null where it is a fault of the program. */
export function errorBodyOf(error: unknown): ErrorBody | null {
  if (!(error instanceof Error)) return null
  const { message } = error
  if (error instanceof OperatorRefused) return { error: error.code, message, ...error.details }
  if (error.name === "CompanyErased") return { error: "company_erased", message }
  if (error instanceof DamagedStream)
    return { error: "stream_damaged", message: damagedText(message) }
  if (error instanceof RangeError) return { error: "validation", message }
  const isOfDatabase = error instanceof DatabaseSilent || isConnectionFault(error)
  if (isOfDatabase || UNKNOWN.has(error.name))
    return { error: "unavailable", message: unknownText(message) }
  if (UNAVAILABLE.has(error.name)) return { error: "unavailable", message: laterText(message) }
  return null
}

const laterText = (why: string): string =>
  `The ledger cannot be reached right now and nothing was stored; try again. (${why})`

const damagedText = (why: string): string =>
  `A stream is damaged, and nothing was stored: ${why}. "audit verify" names the first broken place; ` +
  "restore what is missing from a backup."

const unknownText = (why: string): string =>
  `Nobody knows whether this was stored: look before you do it again. (${why})`

/** What is wrong with a field, to stand behind its name. */
function operatorWords(issue: core.$ZodRawIssue): string {
  if ((issue.path ?? []).length === 0) return "must be an object of named fields"
  const text = inWords(issue)
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/\.$/, "")
}

/** What is wrong with an input: `fields` by their names, the message by the words of the command line. */
function invalid(schema: ZodType, error: z.ZodError): ErrorBody {
  const usage = usageIn(error)
  if (usage !== null) return { error: USAGE, message: usage }
  const fields: Record<string, string> = {}
  for (const issue of error.issues) {
    const field = issue.path.length === 0 ? "input" : issue.path.join(".")
    fields[field] ??= issue.message
  }
  const faults = Object.entries(fields).map(([field, fault]) => {
    return `${wordOfField(schema, field.split(".")[0] ?? field) ?? field}: ${fault}`
  })
  return { error: "validation", message: `This is not valid: ${faults.join("; ")}`, fields }
}
