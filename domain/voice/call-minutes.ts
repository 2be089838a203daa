/**
 * The minutes of a call: which have started, and which must be paid.
 *
 * They are counted by the carrier's times, from answering the caller's leg until it ended: 60.000 seconds are one
 * minute, 60.001 are two. A call whose caller's leg was not answered has none.
 */
import type { Micros } from "../kernel/money.ts"
import type { OfferedCall } from "./call-state.ts"

/** A minute of a call in milliseconds. */
export const CALL_MINUTE_MS = 60_000
/** Maximum number of minutes of a call. */
export const MAX_CALL_MINUTES = 240

/** The duration of a call in milliseconds; 0 if its start or end is unknown. */
function lastedMs({ answeredAt, goneAt }: Pick<OfferedCall, "answeredAt" | "goneAt">): number {
  return answeredAt === null || goneAt === null ? 0 : Math.max(0, goneAt - answeredAt)
}

/** Returns the known duration of a call in seconds, rounded up. */
export function callSecondsOf(call: Pick<OfferedCall, "answeredAt" | "goneAt">): number {
  return Math.ceil(lastedMs(call) / 1_000)
}

/** Whether the call has ended and the time of its end is known, so that its minutes are final. */
function isSettled({ phase, goneAt }: Pick<OfferedCall, "phase" | "goneAt">): boolean {
  return phase === "ended" && goneAt !== null
}

/** Returns the number of minutes of a call; at least one if it was answered. */
export function billableMinutes(call: Pick<OfferedCall, "answeredAt" | "goneAt">): number {
  if (call.answeredAt === null || call.goneAt === null) return 0
  return Math.min(MAX_CALL_MINUTES, Math.max(1, Math.ceil(lastedMs(call) / CALL_MINUTE_MS)))
}

/** The minutes of a call. */
export interface CallMinutes {
  /** The minute that has started and is neither paid nor refused; null if there is none. */
  readonly owed: number | null
  /** The next minute and when it is due by the ledger's clock; null if there is none. */
  readonly next: { readonly minute: number; readonly dueAt: number } | null
  readonly paid: number
  /** The last minute that has started; it may be charged even if that was not recorded yet. */
  readonly started: number
  /** Whether the last minute was refused; a charge of it is refunded. */
  readonly isLastRefused: boolean
  /** The last minute that is known to have started; the charges up to it are settled. */
  readonly confirmed: number
  /** Whether later minutes are known not to have started; their charges are refunded. */
  readonly isFinal: boolean
}

/** Returns the minutes of a call. */
export function callMinutesOf(call: OfferedCall): CallMinutes {
  const { begun: started, paid, refused } = call
  const isFinal = isSettled(call)
  const billable = billableMinutes(call)
  const isOpen = started > paid && refused === null && (!isFinal || started <= billable)
  const owed = isOpen ? started : null
  const confirmed = isFinal
    ? Math.min(billable, refused === null ? billable : refused - 1)
    : confirmedMinutes(call)
  const next = nextOf(call, isFinal, billable)
  return { owed, next, paid, started, isLastRefused: refused !== null, confirmed, isFinal }
}

/** Returns how many minutes were seen to start during the call; their charges were settled then. */
export function confirmedMinutes({
  seen,
  answeredAt,
}: Pick<OfferedCall, "seen" | "answeredAt">): number {
  return Math.max(seen, answeredAt === null ? 0 : 1)
}

/** Returns when a minute starts by the carrier's clock; null if the caller's leg was not answered. */
export function minuteStartedAt(
  call: Pick<OfferedCall, "answeredAt">,
  minute: number,
): number | null {
  return call.answeredAt === null ? null : call.answeredAt + (minute - 1) * CALL_MINUTE_MS
}

function nextOf(call: OfferedCall, isFinal: boolean, billable: number): CallMinutes["next"] {
  const { begun, paid, refused, answeredAt, phase } = call
  if (answeredAt === null || refused !== null || paid !== begun || begun === 0) return null
  const minute = begun + 1
  const lastMinute = isFinal ? billable : phase === "ended" ? 0 : MAX_CALL_MINUTES
  return minute > lastMinute ? null : { minute, dueAt: answeredAt + begun * CALL_MINUTE_MS + 1 }
}

/** Returns the price of a minute once it is known which leg accepted the call. */
export function callMinutePrice({
  offered,
  acceptedLeg,
}: Pick<OfferedCall, "offered" | "acceptedLeg">): {
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
} {
  const { minuteMicros, legMicros, priceVersion } = offered
  const ofLeg = acceptedLeg === null ? undefined : legMicros[acceptedLeg - 1]
  return { unitPriceMicros: ofLeg ?? minuteMicros, priceVersion }
}

/** Returns the price of the first minute: the highest, because it is unknown which leg will accept the call. */
export function firstCallMinutePrice({ offered }: Pick<OfferedCall, "offered">): Micros {
  return Math.max(offered.minuteMicros, ...offered.legMicros)
}
