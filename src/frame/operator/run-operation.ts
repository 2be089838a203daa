/** Does one operation, for an operator or in a company's console. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { CorruptStream, laterPosition } from "../../../adapters/eventstore/port.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal, ERROR_STATUSES } from "../routes/answers/refusal.ts"
import type { OperationOutcome } from "../console-ports.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "./operation.ts"
import { OperatorRefused } from "./operation.ts"
import type { ErrorBody } from "./protocol.ts"
import { isResultRow } from "./protocol.ts"

/** How an operation reaches its operator while it works. */
export type OperationChannel = Pick<AdminContext, "progress" | "send" | "signal">

/** Errors of the stores that say nothing about the command: it can be given again. */
const UNAVAILABLE_ERRORS: ReadonlySet<string> = new Set([
  "Unavailable",
  "Overloaded",
  "DeadlinePassed",
  "ClockUnsure",
])

/** Errors after which nobody knows whether the facts are stored. */
const UNKNOWN_OUTCOME_ERRORS: ReadonlySet<string> = new Set(["OutcomeUnknown", "UnknownOutcome"])

/** Does an operation whose input was checked. @throws a fault of the program, or the signal's reason */
export async function runOperation<I>(
  { run, isLongRunning }: Pick<AdminOperation<I>, "run" | "isLongRunning">,
  given: Pick<AdminContext, "ports" | "cause" | "companyScope">,
  input: I,
  talk: OperationChannel,
): Promise<OperationOutcome> {
  const { ports } = given
  const answered = new AbortController()
  const context = { ...given, ...channelUntil(talk, answered.signal) }
  const asked = async () =>
    runAndNotifyProcesses(ports, async (heard) => run({ ...context, ports: heard }, input))
  try {
    const result = await unlessUnresponsive(ports, isLongRunning === true, asked())
    return { result: result === undefined ? null : result }
  } catch (error) {
    const body = operatorErrorBody(unresponsiveCause(error, ports.unresponsiveSince()))
    if (body === null) throw error
    return { refusal: refusalFromErrorBody(body) }
  } finally {
    answered.abort()
  }
}

/** Why an operator is refused, with the status of its code. */
function refusalFromErrorBody({ error, message, ...details }: ErrorBody): Refusal {
  const known: Readonly<Record<string, number>> = ERROR_STATUSES
  const status = known[error] ?? (error.startsWith("no_such_") ? 404 : 409)
  return { error, status, message, details }
}

/** Why nothing is lost by an operation yet; null where it loses nothing, or its loss was confirmed. */
export function confirmationRefusal(
  { irreversible }: Pick<AdminOperation, "irreversible">,
  input: unknown,
  confirmed: string | null,
): Refusal | null {
  if (irreversible === undefined) return null
  const named = isResultRow(input) ? input[irreversible.field] : undefined
  if (confirmed !== null && confirmed === named) return null
  const message = `Confirm it by the ${String(irreversible.field)}: ${irreversible.says}.`
  return refusal("validation", message, { fields: { confirm: message } })
}

/**
 * Runs an operator's command, and resolves once what it changed is in force in every process: whoever is
 * told so may rely on it, wherever he calls next.
 */
export async function runAndNotifyProcesses<T>(
  ports: AdminPorts,
  run: (ports: AdminPorts) => Promise<T>,
): Promise<T> {
  let last: Position | null = null
  const execute: AdminPorts["runner"]["execute"] = async (...given) => {
    const outcome = await ports.runner.execute(...given)
    if (outcome.accepted && outcome.facts.length > 0) last = laterPositionOf(last, outcome.position)
    return outcome
  }
  try {
    return await run({ ...ports, runner: { ...ports.runner, execute } })
  } finally {
    if (last !== null) await ports.waitForOtherProcesses(last)
  }
}

function laterPositionOf(one: Position | null, other: Position | null): Position | null {
  if (one === null || other === null) return one ?? other
  return laterPosition(one, other)
}

/** A connection that was given up says less than since when the database does not answer. */
function unresponsiveCause(error: unknown, since: number | null): unknown {
  return since !== null && isConnectionFault(error) ? new DatabaseUnresponsive(since) : error
}

/** Who was answered is told nothing more: what still runs then may stop. */
function channelUntil(
  { progress, send, signal }: OperationChannel,
  answered: AbortSignal,
): OperationChannel {
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
export function operatorErrorBody(error: unknown): ErrorBody | null {
  if (!(error instanceof Error)) return null
  const { message } = error
  if (error instanceof OperatorRefused) return { error: error.code, message, ...error.details }
  if (error.name === "CompanyErased") return { error: "company_erased", message }
  if (error instanceof CorruptStream)
    return { error: "stream_damaged", message: corruptStreamMessage(message) }
  if (error instanceof RangeError) return { error: "validation", message }
  const isOfDatabase = error instanceof DatabaseUnresponsive || isConnectionFault(error)
  if (isOfDatabase || UNKNOWN_OUTCOME_ERRORS.has(error.name))
    return { error: "unavailable", message: unknownOutcomeText(message) }
  if (UNAVAILABLE_ERRORS.has(error.name))
    return { error: "unavailable", message: unavailableText(message) }
  return null
}

const unavailableText = (why: string): string =>
  `The ledger cannot be reached right now and nothing was stored; try again. (${why})`

const corruptStreamMessage = (why: string): string =>
  `A stream is damaged, and nothing was stored: ${why}. "audit verify" names the first broken place; ` +
  "restore what is missing from a backup."

const unknownOutcomeText = (why: string): string =>
  `Nobody knows whether this was stored: look before you do it again. (${why})`

/** With the few seconds in which a silence is noticed, an operator hears of it within ten. */
const MAX_UNRESPONSIVE_MS = 7_000
const POLL_MS = 250

/** The database did not answer while a command ran. */
export class DatabaseUnresponsive extends Error {
  override readonly name = "DatabaseUnresponsive"
  /** `since` is UTC ms. */
  constructor(since: number) {
    super(`PostgreSQL does not answer since ${new Date(since).toISOString()}`)
  }
}

/**
 * What a command comes to, unless the database is silent for too long. One that is patient goes on
 * where it was begun while the database answered: it may be at the end of an hour's work, and a
 * database that was only frozen goes on with it.
 *
 * @throws DatabaseUnresponsive, and what the command throws
 */
export async function unlessUnresponsive<T>(
  ports: Pick<AdminPorts, "unresponsiveSince" | "pacer">,
  isPatient: boolean,
  command: Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  try {
    return await Promise.race([command, rejectWhenUnresponsive(ports, isPatient, ended.signal)])
  } finally {
    ended.abort()
  }
}

async function rejectWhenUnresponsive(
  { unresponsiveSince, pacer }: Pick<AdminPorts, "unresponsiveSince" | "pacer">,
  isPatient: boolean,
  ended: AbortSignal,
): Promise<never> {
  let silentFromMs: number | null = null
  let isBegun = false
  for (;;) {
    ended.throwIfAborted()
    const since = unresponsiveSince()
    if (since === null) {
      isBegun = true
      silentFromMs = null
    } else {
      silentFromMs ??= pacer.elapsedMs()
      const isLong = pacer.elapsedMs() - silentFromMs >= MAX_UNRESPONSIVE_MS
      if (isLong && !(isPatient && isBegun)) throw new DatabaseUnresponsive(since)
    }
    await pacer.pause(POLL_MS, ended)
  }
}
