/**
 * One mail to up to fifty recipients, each of whom gets a copy that names them alone.
 *
 * Stream `mail-<companyId>-<mailId>`: accepted once, then what became of the copies, several at a time.
 * Bounded by recipients and by how often one is tried. A mail is refused as a whole only while nobody has
 * it, and nobody may have it: from then on it is charged, whatever becomes of the others.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { MailEvent, MailFact, MailOutcome, MailRecipient } from "./mail-events.ts"

const MINUTE_MS = 60_000

const HOUR_MS = 60 * MINUTE_MS

/** After each time that it was put off: sign-in codes want the early ones. */
const RETRY_DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS] as const

/** After all of those. */
const LATER_RETRY_DELAY_MS = 4 * HOUR_MS

/** From there on it is bounced. */
const MAX_RETRY_MS = 72 * HOUR_MS

/** Of whom nobody knows whether they have it, it is handed over once more after this. */
const UNKNOWN_RETRY_DELAY_MS = 15 * MINUTE_MS

/** "Message expired": it was tried for as long as it is (RFC 3463). */
const EXPIRED = "4.4.7"

/** How often handing over came to what, and when last. */
interface DispatchAttempts {
  readonly deferred: number
  readonly unknown: number
  readonly last: "deferred" | "unknown" | null
  readonly at: number
}

/** Whether what was accepted then is tried no more. */
const isExpired = (acceptedAt: number, now: number): boolean => now - acceptedAt >= MAX_RETRY_MS

type Command<T extends MailEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  MailFact<T>,
  "type" | "at"
>

/** Accepts a mail that is paid for. The same again: nothing new. */
export type AcceptMail = Command<"MailAccepted", "AcceptMail">
/** Records what became of copies. Of those whose end is known: nothing new. */
export type RecordMailOutcomes = Command<"MailDispatched", "RecordMailOutcomes">
/** Records that copies were refused for what the mail is or whom it is from. */
export interface RefuseMail {
  readonly type: "RefuseMail"
  readonly mailId: MailFact<"MailRefused">["mailId"]
  readonly recipientIndexes: readonly number[]
  readonly code: string
}
/** Records that a copy came back. One that did, or never got anywhere: nothing new. */
export type BounceMail = Command<"MailBounced", "BounceMail">
/** Makes sure that a mail which was never accepted never is. */
export type AbandonMail = Command<"MailAbandoned", "AbandonMail">

/** What can be asked of a mail. */
export type MailCommand = AcceptMail | RecordMailOutcomes | RefuseMail | BounceMail | AbandonMail

/** A command was refused. */
export interface MailCommandRefused {
  readonly type: "MailCommandRefused"
  readonly at: number
  readonly code: "no_mail"
  readonly message: string
}

/** How a copy stands; `open` is one that was never handed over, `returned` one that came back. */
export type MailCopyStatus = "open" | "returned" | MailOutcome["result"]

interface Copy extends MailRecipient {
  status: MailCopyStatus
  code: string | null
  tried: DispatchAttempts
}

interface State {
  accepted: MailFact<"MailAccepted"> | null
  readonly copies: Map<number, Copy>
  /** Why it was refused as a whole. */
  refused: string | null
  isAbandoned: boolean
}

/** A mail. Only the functions of this file look inside. */
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
  given: readonly MailOutcome[],
  at: number,
): readonly MailEvent[] {
  const acceptedAt = state.accepted?.at ?? at
  const outcomes = given
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

/** Whether something is still to become of a copy; one that may be had twice by now is left as it is. */
const isUndecided = ({ status, tried }: Copy): boolean =>
  status === "open" || ((status === "deferred" || status === "unknown") && dueAt(tried) !== null)

/** Whether somebody has a copy, or may have it, and it did not come back yet. */
const canBounce = ({ status, tried }: Copy): boolean =>
  status === "delivered" || status === "relayed" || (tried.unknown > 0 && status !== "returned")

/** Whether anybody has it, or may have it. */
function mayBeDelivered({ copies }: MailState): boolean {
  return [...copies.values()].some(
    ({ status, tried }) =>
      status === "delivered" || status === "relayed" || status === "returned" || tried.unknown > 0,
  )
}

function refuse(at: number): MailCommandRefused {
  return { type: "MailCommandRefused", at, code: "no_mail", message: "There is no such mail." }
}

function evolve(state: MailState, event: MailEvent): MailState {
  switch (event.type) {
    case "MailAccepted": {
      state.accepted = event
      const tried = { deferred: 0, unknown: 0, last: null, at: event.at } as const
      for (const one of event.recipients) {
        state.copies.set(one.recipientIndex, { ...one, status: "open", code: null, tried })
      }
      return state
    }
    case "MailDispatched":
      for (const { recipientIndex, result, code } of event.outcomes) {
        const copy = state.copies.get(recipientIndex)
        if (copy === undefined) continue
        const last = result === "deferred" || result === "unknown" ? result : null
        const { deferred, unknown } = copy.tried
        copy.tried = {
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
      // It was had, so it is not handed over again.
      const tried = { ...copy.tried, last: null }
      Object.assign(copy, { status: "returned", code: event.code, tried })
      return state
    }
    case "MailAbandoned":
      state.isAbandoned = true
      return state
    default:
      return unreachable(event)
  }
}

/** One copy. */
export interface MailCopyView extends MailRecipient {
  readonly status: MailCopyStatus
  readonly code: string | null
  /** When it is handed over next, UTC milliseconds; null for never again. */
  readonly dueAt: number | null
}

/** A mail as it stands. */
export interface MailView {
  readonly accepted: MailFact<"MailAccepted">
  /** By their places. */
  readonly copies: readonly MailCopyView[]
  /** Why it was refused as a whole; null where it was not. */
  readonly refused: string | null
  /** Whether it is charged for good: it cannot be refused as a whole any more. */
  readonly isChargeSettled: boolean
}

/** A mail as it stands; null where none was accepted. */
export function viewOfMail(state: MailState): MailView | null {
  const { accepted, refused } = state
  if (accepted === null) return null
  const copies = [...state.copies.values()].map(
    ({ recipientIndex, to, tag, status, code, tried }) => {
      const isUsed = refused === null && (status === "open" || tried.last !== null)
      return { recipientIndex, to, tag, status, code, dueAt: isUsed ? dueAt(tried) : null }
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

/** Whether it was made sure that a mail never is accepted. */
export const isMailAbandoned = ({ isAbandoned }: MailState): boolean => isAbandoned

/** When it is to be handed over, UTC milliseconds; null where it may not be any more, for two may have it. */
function dueAt({ deferred, unknown, last, at }: DispatchAttempts): number | null {
  if (last === null) return at
  if (last === "unknown") return unknown > 1 ? null : at + UNKNOWN_RETRY_DELAY_MS
  return at + (RETRY_DELAYS_MS[deferred - 1] ?? LATER_RETRY_DELAY_MS)
}
