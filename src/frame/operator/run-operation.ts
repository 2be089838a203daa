/** Runs an operation, for an operator or in a company's console. */
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

/** How a running operation reaches its caller. */
export type OperationChannel = Pick<AdminContext, "progress" | "send" | "signal">

/** Errors of the stores after which the command can be repeated. */
const UNAVAILABLE_ERRORS: ReadonlySet<string> = new Set([
  "Unavailable",
  "Overloaded",
  "DeadlinePassed",
  "ClockUnsure",
])

/** Errors with an unknown outcome: the facts may be stored. */
const UNKNOWN_OUTCOME_ERRORS: ReadonlySet<string> = new Set(["OutcomeUnknown", "UnknownOutcome"])

/** Runs an operation with checked input. @throws a program error, or the signal's reason */
export async function runOperation<I>(
  { run, isLongRunning }: Pick<AdminOperation<I>, "run" | "isLongRunning">,
  given: Pick<AdminContext, "ports" | "cause" | "companyScope">,
  input: I,
  talk: OperationChannel,
): Promise<OperationOutcome> {
  const { ports } = given
  const answered = new AbortController()
  const context = { ...given, ...channelUntil(talk, answered.signal) }
  const command = async () =>
    runAndNotifyProcesses(ports, async (notifying) => run({ ...context, ports: notifying }, input))
  try {
    const result = await unlessUnresponsive(ports, isLongRunning === true, command())
    return { result: result === undefined ? null : result }
  } catch (error) {
    const body = operatorErrorBody(unresponsiveCause(error, ports.unresponsiveSince()))
    if (body === null) throw error
    return { refusal: refusalFromErrorBody(body) }
  } finally {
    answered.abort()
  }
}

/** Converts an error body to a refusal with the status of its code. */
function refusalFromErrorBody({ error, message, ...details }: ErrorBody): Refusal {
  const known: Readonly<Record<string, number>> = ERROR_STATUSES
  const status = known[error] ?? (error.startsWith("no_such_") ? 404 : 409)
  return { error, status, message, details }
}

/** Returns the refusal of an unconfirmed irreversible operation; null if confirmed or reversible. */
export function confirmationRefusal(
  { irreversible }: Pick<AdminOperation, "irreversible">,
  input: unknown,
  confirmed: string | null,
): Refusal | null {
  if (irreversible === undefined) return null
  const named = isResultRow(input) ? input[irreversible.field] : undefined
  if (confirmed !== null && confirmed === named) return null
  const message = `Confirm this with ${String(irreversible.field)}: ${irreversible.says}.`
  return refusal("validation", message, { fields: { confirm: message } })
}

/**
 * Runs an operator's command, and resolves once its changes are in effect in every process, so that the caller
 * can rely on them.
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

/** Replaces a connection error by the more useful fact that the database does not answer. */
function unresponsiveCause(error: unknown, since: number | null): unknown {
  return since !== null && isConnectionFault(error) ? new DatabaseUnresponsive(since) : error
}

/** Ends a channel once the operation is answered: work that still runs may then stop. */
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

/** Returns an error that an operator can act on; null for a program error. */
export function operatorErrorBody(error: unknown): ErrorBody | null {
  if (!(error instanceof Error)) return null
  const { message } = error
  if (error instanceof OperatorRefused) return { error: error.code, message, ...error.details }
  if (error.name === "CompanyErased") return { error: "company_erased", message }
  if (error instanceof CorruptStream)
    return { error: "stream_corrupt", message: corruptStreamMessage(message) }
  if (error instanceof RangeError) return { error: "validation", message }
  const isOfDatabase = error instanceof DatabaseUnresponsive || isConnectionFault(error)
  if (isOfDatabase || UNKNOWN_OUTCOME_ERRORS.has(error.name))
    return { error: "unavailable", message: unknownOutcomeText(message) }
  if (UNAVAILABLE_ERRORS.has(error.name))
    return { error: "unavailable", message: unavailableText(message) }
  return null
}

const unavailableText = (why: string): string =>
  `The ledger is not available and nothing was stored. Try again. (${why})`

const corruptStreamMessage = (why: string): string =>
  `A stream is corrupt, and nothing was stored: ${why}. "audit verify" names the first corrupt place; ` +
  "restore the stream from a backup."

const unknownOutcomeText = (why: string): string =>
  `It is not known whether this was stored. Check before you run it again. (${why})`

/** Together with the seconds to detect it, an operator learns of an unresponsive database within ten. */
const MAX_UNRESPONSIVE_MS = 7_000
const POLL_MS = 250

/** The database stopped answering while a command ran. */
export class DatabaseUnresponsive extends Error {
  override readonly name = "DatabaseUnresponsive"
  /** `since` is in UTC milliseconds. */
  constructor(since: number) {
    super(`PostgreSQL has not answered since ${new Date(since).toISOString()}`)
  }
}

/**
 * Resolves like the command, unless the database does not answer for too long. A patient command continues
 * if it began while the database answered: it may be near its end, and a frozen database may recover.
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
