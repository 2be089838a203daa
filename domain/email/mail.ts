/**
 * One mail to up to fifty recipients; each gets a copy that names no other recipient.
 *
 * Stream `mail-<companyId>-<mailId>`: one acceptance, then the outcomes of several copies at a time. Bounded by
 * recipients and retries. The whole mail is refused only while no recipient has it or may have it; after that it is
 * charged, whatever happens to the other copies.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { MailEvent, MailFact, MailOutcome, MailRecipient } from "./mail-events.ts"

const MINUTE_MS = 60_000

const HOUR_MS = 60 * MINUTE_MS

/** Delays after each deferral; sign-in codes need the early ones. */
const RETRY_DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS] as const

const LATER_RETRY_DELAY_MS = 4 * HOUR_MS

/** After this time a deferred copy is bounced. */
const MAX_RETRY_MS = 72 * HOUR_MS

/** A copy with an unknown outcome is dispatched a second time after this delay. */
const UNKNOWN_RETRY_DELAY_MS = 15 * MINUTE_MS

/** "Message expired": it was retried long enough (RFC 3463). */
const EXPIRED = "4.4.7"

interface DispatchAttempts {
  readonly deferred: number
  readonly unknown: number
  readonly last: "deferred" | "unknown" | null
  readonly at: number
}

/** Whether retries have ended for a mail accepted at `acceptedAt`. */
const isExpired = (acceptedAt: number, now: number): boolean => now - acceptedAt >= MAX_RETRY_MS

type Command<T extends MailEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  MailFact<T>,
  "type" | "at"
>

/** Accepts a mail that is paid for. Idempotent. */
export type AcceptMail = Command<"MailAccepted", "AcceptMail">
/** Records outcomes of copies. Copies with a final outcome are skipped. */
export type RecordMailOutcomes = Command<"MailDispatched", "RecordMailOutcomes">
/** Records that copies were refused because of the mail's content or sender. */
export interface RefuseMail {
  readonly type: "RefuseMail"
  readonly mailId: MailFact<"MailRefused">["mailId"]
  readonly recipientIndexes: readonly number[]
  readonly code: string
}
/** Records that a copy bounced. Records nothing if it already did or was never accepted anywhere. */
export type BounceMail = Command<"MailBounced", "BounceMail">
/** Makes sure that a mail that was not accepted never is. */
export type AbandonMail = Command<"MailAbandoned", "AbandonMail">

export type MailCommand = AcceptMail | RecordMailOutcomes | RefuseMail | BounceMail | AbandonMail

export interface MailCommandRefused {
  readonly type: "MailCommandRefused"
  readonly at: number
  readonly code: "no_mail"
  readonly message: string
}

/** The status of a copy: `open` was never dispatched, `returned` bounced after its acceptance. */
export type MailCopyStatus = "open" | "returned" | MailOutcome["result"]

interface Copy extends MailRecipient {
  status: MailCopyStatus
  code: string | null
  attempts: DispatchAttempts
}

interface State {
  accepted: MailFact<"MailAccepted"> | null
  readonly copies: Map<number, Copy>
  /** Why the whole mail was refused. */
  refused: string | null
  isAbandoned: boolean
}

/** The state of a mail. Only the functions of this file access its fields. */
export type MailState = State

/** The rules of a mail. */
export const mailDecider: Decider<MailCommand, MailState, MailEvent, MailCommandRefused> = {
  initial: () => ({ accepted: null, copies: new Map(), refused: null, isAbandoned: false }),
  decide,
  evolve,
}

function decide(
  command: MailCommand,
  state: MailState,
  { at }: DecisionStamp,
): readonly MailEvent[] | MailCommandRefused {
  const { accepted, isAbandoned } = state
  if (command.type === "AcceptMail") {
    if (isAbandoned) return refuse(at)
    return accepted === null ? [{ ...command, type: "MailAccepted", at }] : []
  }
  if (command.type === "AbandonMail") {
    if (accepted !== null || isAbandoned) return []
    return [{ ...command, type: "MailAbandoned", at }]
  }
  if (accepted === null) return refuse(at)
  const { mailId } = command
  switch (command.type) {
    case "RecordMailOutcomes":
      return recordOutcomes(state, mailId, command.outcomes, at)
    case "RefuseMail": {
      const { recipientIndexes, code } = command
      if (recipientIndexes.length === 0 || state.refused !== null) return []
      if (!mayBeDelivered(state)) return [{ type: "MailRefused", at, mailId, code }]
      return recordOutcomes(
        state,
        mailId,
        recipientIndexes.map((recipientIndex) => ({ recipientIndex, result: "bounced", code })),
        at,
      )
    }
    case "BounceMail": {
      const copy = state.copies.get(command.recipientIndex)
      return copy !== undefined && canBounce(copy) ? [{ ...command, type: "MailBounced", at }] : []
    }
    default:
      return unreachable(command)
  }
}

function recordOutcomes(
  state: MailState,
  mailId: MailFact<"MailDispatched">["mailId"],
  reported: readonly MailOutcome[],
  at: number,
): readonly MailEvent[] {
  const acceptedAt = state.accepted?.at ?? at
  const outcomes = reported
    .filter(({ recipientIndex }) => {
      const copy = state.copies.get(recipientIndex)
      return state.refused === null && copy !== undefined && isUndecided(copy)
    })
    .map((one) =>
      one.result === "deferred" && isExpired(acceptedAt, at)
        ? { recipientIndex: one.recipientIndex, result: "bounced" as const, code: EXPIRED }
        : one,
    )
  return outcomes.length === 0 ? [] : [{ type: "MailDispatched", at, mailId, outcomes }]
}

/** Whether a copy still needs an outcome. A copy that may have arrived twice is final. */
const isUndecided = ({ status, attempts }: Copy): boolean =>
  status === "open" || ((status === "deferred" || status === "unknown") && dueAt(attempts) !== null)

/** Whether a copy was or may have been accepted and has not come back yet. */
const canBounce = ({ status, attempts }: Copy): boolean =>
  status === "delivered" || status === "relayed" || (attempts.unknown > 0 && status !== "returned")

/** Whether a recipient has the mail or may have it. */
function mayBeDelivered({ copies }: MailState): boolean {
  return [...copies.values()].some(
    ({ status, attempts }) =>
      status === "delivered" ||
      status === "relayed" ||
      status === "returned" ||
      attempts.unknown > 0,
  )
}

function refuse(at: number): MailCommandRefused {
  return { type: "MailCommandRefused", at, code: "no_mail", message: "There is no such mail." }
}

function evolve(state: MailState, event: MailEvent): MailState {
  switch (event.type) {
    case "MailAccepted": {
      state.accepted = event
      const attempts = { deferred: 0, unknown: 0, last: null, at: event.at } as const
      for (const one of event.recipients) {
        state.copies.set(one.recipientIndex, { ...one, status: "open", code: null, attempts })
      }
      return state
    }
    case "MailDispatched":
      for (const { recipientIndex, result, code } of event.outcomes) {
        const copy = state.copies.get(recipientIndex)
        if (copy === undefined) continue
        const last = result === "deferred" || result === "unknown" ? result : null
        const { deferred, unknown } = copy.attempts
        copy.attempts = {
          deferred: deferred + (last === "deferred" ? 1 : 0),
          unknown: unknown + (last === "unknown" ? 1 : 0),
          last,
          at: event.at,
        }
        Object.assign(copy, { status: result, code })
      }
      return state
    case "MailRefused":
      state.refused = event.code
      return state
    case "MailBounced": {
      const copy = state.copies.get(event.recipientIndex)
      if (copy === undefined) return state
      // A returned copy was accepted, so it is not dispatched again.
      const attempts = { ...copy.attempts, last: null }
      Object.assign(copy, { status: "returned", code: event.code, attempts })
      return state
    }
    case "MailAbandoned":
      state.isAbandoned = true
      return state
    default:
      return unreachable(event)
  }
}

export interface MailCopyView extends MailRecipient {
  readonly status: MailCopyStatus
  readonly code: string | null
  /** When it is dispatched next, UTC milliseconds; null for never. */
  readonly dueAt: number | null
}

export interface MailView {
  readonly accepted: MailFact<"MailAccepted">
  /** In the order of the recipients. */
  readonly copies: readonly MailCopyView[]
  /** Why the whole mail was refused; null if it was not. */
  readonly refused: string | null
  /** Whether the charge is final, because the whole mail can no longer be refused. */
  readonly isChargeSettled: boolean
}

/** Returns the view of a mail; null if it was not accepted. */
export function viewOfMail(state: MailState): MailView | null {
  const { accepted, refused } = state
  if (accepted === null) return null
  const copies = [...state.copies.values()].map(
    ({ recipientIndex, to, tag, status, code, attempts }) => {
      const isDispatchable = refused === null && (status === "open" || attempts.last !== null)
      return {
        recipientIndex,
        to,
        tag,
        status,
        code,
        dueAt: isDispatchable ? dueAt(attempts) : null,
      }
    },
  )
  const isOver = copies.every((one) => one.dueAt === null)
  return {
    accepted,
    copies,
    refused,
    isChargeSettled: refused === null && (isOver || mayBeDelivered(state)),
  }
}

/** Whether the mail was abandoned before its acceptance. */
export const isMailAbandoned = ({ isAbandoned }: MailState): boolean => isAbandoned

/**
 * When it is dispatched next, UTC milliseconds; null after a second unknown outcome, because two copies may have
 * arrived.
 */
function dueAt({ deferred, unknown, last, at }: DispatchAttempts): number | null {
  if (last === null) return at
  if (last === "unknown") return unknown > 1 ? null : at + UNKNOWN_RETRY_DELAY_MS
  return at + (RETRY_DELAYS_MS[deferred - 1] ?? LATER_RETRY_DELAY_MS)
}
