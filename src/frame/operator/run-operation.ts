/** Does one operation, for an operator or in a company's console. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { DamagedStream, later } from "../../../adapters/eventstore/port.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal, STATUS_OF } from "../routes/answers/refusal.ts"
import type { Done } from "../console-ports.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "./operation.ts"
import { OperatorRefused } from "./operation.ts"
import type { ErrorBody } from "./protocol.ts"
import { isRow } from "./protocol.ts"

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

/** Does an operation whose input was checked. @throws a fault of the program, or the signal's reason */
export async function performed<I>(
  { run, isPatient }: Pick<AdminOperation<I>, "run" | "isPatient">,
  given: Pick<AdminContext, "ports" | "cause" | "within">,
  input: I,
  talk: Talk,
): Promise<Done> {
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
    return { refusal: refusedWith(body) }
  } finally {
    answered.abort()
  }
}

/** Why an operator is refused, with the status of its code. */
function refusedWith({ error, message, ...details }: ErrorBody): Refusal {
  const known: Readonly<Record<string, number>> = STATUS_OF
  const status = known[error] ?? (error.startsWith("no_such_") ? 404 : 409)
  return { error, status, message, details }
}

/** Why nothing is lost by an operation yet; null where it loses nothing, or its loss was confirmed. */
export function unconfirmed(
  { irreversible }: Pick<AdminOperation, "irreversible">,
  input: unknown,
  confirmed: string | null,
): Refusal | null {
  if (irreversible === undefined) return null
  const named = isRow(input) ? input[irreversible.field] : undefined
  if (confirmed !== null && confirmed === named) return null
  const message = `Confirm it by the ${String(irreversible.field)}: ${irreversible.says}.`
  return refusal("validation", message, { fields: { confirm: message } })
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
  const execute: AdminPorts["runner"]["execute"] = async (...given) => {
    const outcome = await ports.runner.execute(...given)
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

/** With the few seconds in which a silence is noticed, an operator hears of it within ten. */
const SILENT_MOST_MS = 7_000
const LOOK_MS = 250

/** The database did not answer while a command ran. */
export class DatabaseSilent extends Error {
  override readonly name = "DatabaseSilent"
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
 * @throws DatabaseSilent, and what the command throws
 */
export async function unlessSilent<T>(
  ports: Pick<AdminPorts, "silentSince" | "pacer">,
  isPatient: boolean,
  command: Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  try {
    return await Promise.race([command, silentTooLong(ports, isPatient, ended.signal)])
  } finally {
    ended.abort()
  }
}

async function silentTooLong(
  { silentSince, pacer }: Pick<AdminPorts, "silentSince" | "pacer">,
  isPatient: boolean,
  ended: AbortSignal,
): Promise<never> {
  let silentFromMs: number | null = null
  let isBegun = false
  for (;;) {
    ended.throwIfAborted()
    const since = silentSince()
    if (since === null) {
      isBegun = true
      silentFromMs = null
    } else {
      silentFromMs ??= pacer.elapsedMs()
      const isLong = pacer.elapsedMs() - silentFromMs >= SILENT_MOST_MS
      if (isLong && !(isPatient && isBegun)) throw new DatabaseSilent(since)
    }
    await pacer.pause(LOOK_MS, ended)
  }
}
