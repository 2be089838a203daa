/**
 * The minutes of a call: which of them have begun, and which are to be paid.
 *
 * They are counted from when the carrier opened the caller's leg to when it was gone, by the carrier's
 * times: 60.000 seconds are one minute, 60.001 two. A call whose caller was never answered has none.
 */
import type { Micros } from "../kernel/money.ts"
import type { OfferedCall } from "./call-state.ts"

/** A minute of a call, milliseconds. */
export const CALL_MINUTE_MS = 60_000
/** A call has no more of them. */
export const MAX_CALL_MINUTES = 240

/** How long a call lasted, UTC milliseconds on both sides; 0 where one of them is not known. */
function lastedMs({ answeredAt, goneAt }: Pick<OfferedCall, "answeredAt" | "goneAt">): number {
  return answeredAt === null || goneAt === null ? 0 : Math.max(0, goneAt - answeredAt)
}

/** How many seconds a call lasted as far as is known, each that began counted. */
export function callSecondsOf(call: Pick<OfferedCall, "answeredAt" | "goneAt">): number {
  return Math.ceil(lastedMs(call) / 1_000)
}

/** Whether it is over and known when the caller went: then it is known what its minutes are. */
function isSettled({ phase, goneAt }: Pick<OfferedCall, "phase" | "goneAt">): boolean {
  return phase === "ended" && goneAt !== null
}

/** How many minutes a call had; the one that it began with where it was answered at all. */
export function billableMinutes(call: Pick<OfferedCall, "answeredAt" | "goneAt">): number {
  if (call.answeredAt === null || call.goneAt === null) return 0
  return Math.min(MAX_CALL_MINUTES, Math.max(1, Math.ceil(lastedMs(call) / CALL_MINUTE_MS)))
}

/** How a call's minutes stand. */
export interface CallMinutes {
  /** The minute that has begun and is neither paid nor refused; null where there is none. */
  readonly owed: number | null
  /** The next minute, and when it is due by the ledger's clock; null where there is none. */
  readonly next: { readonly minute: number; readonly dueAt: number } | null
  /** The last that is paid. */
  readonly paid: number
  /** The last that has begun: it may be charged although nobody has said so. */
  readonly started: number
  /** Whether it was refused: what is charged of it all the same is given back. */
  readonly isLastRefused: boolean
  /** The last of which it is known that it began: their charges are closed. */
  readonly confirmed: number
  /** Whether those behind it are known never to have begun: their charges are given back. */
  readonly isFinal: boolean
}

/** How a call's minutes stand. */
export function callMinutesOf(call: OfferedCall): CallMinutes {
  const { begun: started, paid, refused } = call
  const isFinal = isSettled(call)
  const spoken = billableMinutes(call)
  const isOpen = started > paid && refused === null && (!isFinal || started <= spoken)
  const owed = isOpen ? started : null
  const confirmed = isFinal
    ? Math.min(spoken, refused === null ? spoken : refused - 1)
    : confirmedMinutes(call)
  const next = nextOf(call, isFinal, spoken)
  return { owed, next, paid, started, isLastRefused: refused !== null, confirmed, isFinal }
}

/** How many minutes were seen to begin while the call lasted: their charges were closed then. */
export function confirmedMinutes({
  seen,
  answeredAt,
}: Pick<OfferedCall, "seen" | "answeredAt">): number {
  return Math.max(seen, answeredAt === null ? 0 : 1)
}

/** When a minute begins, by the carrier's time; null where the caller was not answered. */
export function minuteStartedAt(
  call: Pick<OfferedCall, "answeredAt">,
  minute: number,
): number | null {
  return call.answeredAt === null ? null : call.answeredAt + (minute - 1) * CALL_MINUTE_MS
}

function nextOf(call: OfferedCall, isFinal: boolean, spoken: number): CallMinutes["next"] {
  const { begun, paid, refused, answeredAt, phase } = call
  if (answeredAt === null || refused !== null || paid !== begun || begun === 0) return null
  const minute = begun + 1
  const most = isFinal ? spoken : phase === "ended" ? 0 : MAX_CALL_MINUTES
  return minute > most ? null : { minute, dueAt: answeredAt + begun * CALL_MINUTE_MS + 1 }
}

/** What one minute costs once it is known who took the call. */
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

/** What the first minute is charged at: the dearest, for nobody knows yet who takes the call. */
export function firstCallMinutePrice({ offered }: Pick<OfferedCall, "offered">): Micros {
  return Math.max(offered.minuteMicros, ...offered.legMicros)
}
