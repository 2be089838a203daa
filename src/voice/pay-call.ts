/**
 * The minutes of a call: each is charged once to the company, open until it is known to have begun.
 * Whichever process comes first brings into the ledger what a call's facts say of its minutes, and does
 * so again after a crash at any line.
 */
import { knownInTime } from "../../adapters/providers/outside.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { resourceOfOpen } from "../../domain/charging/ledger-views.ts"
import {
  MINUTE_MS,
  firstMinutePrice,
  minutePrice,
  minutesOf,
  seenMinutes,
  startOfMinute,
} from "../../domain/voice/call-minutes.ts"
import type { Live } from "../../domain/voice/call-state.ts"
import { missedOf } from "../../domain/voice/call-commands.ts"
import type { Back } from "../frame/effects/charges.ts"
import { refundByName, endCharge } from "../frame/effects/charges.ts"
import type { Minutes } from "../frame/effects/minutes.ts"
import { minuteName, payMinutes } from "../frame/effects/minutes.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallPlace } from "./find-call.ts"
import { readCall, tellCall } from "./find-call.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import { parseCallId } from "../../domain/voice/ids.ts"
import type { Reconciled } from "../frame/effects/reconcile.ts"
import { z } from "zod"
import type { CallFact } from "../../domain/voice/call-events.ts"
import type { At } from "../frame/effects/reaction.ts"
import { reaction } from "../frame/effects/reaction.ts"
import { idSchema } from "../frame/kernel/schema.ts"

const UNANSWERED = "the call was not answered"
const ENDED_BEFORE = "the call ended before this minute began"
const CHEAPER = "who took the call costs less"

/**
 * Begins and charges every minute that is due, and ends the charges of those of which it is known whether they
 * began; the call as it then stands, null where there is none.
 *
 * @param searchedTo up to where the first minute is known not to be charged; null where it is looked for
 */
export async function payCall(
  ports: Ports,
  place: CallPlace,
  cause: Cause,
  searchedTo: number | null = null,
): Promise<Live | null> {
  const call = await payMinutes(ports, minutesOfCall(ports, place, cause), cause, searchedTo)
  if (call !== null) await settleMinutes(ports, place, call, cause)
  return call
}

function minutesOfCall(
  ports: Pick<Ports, "pacer" | "runner" | "voice">,
  place: CallPlace,
  cause: Cause,
): Minutes<Live> {
  const { companyId, callId } = place
  return {
    companyId,
    resource: callId,
    read: () => readCall(ports, place),
    standing: minutesOf,
    // A minute of a call that is over was spoken; else the carrier says whether the caller is there.
    begin: async (call, minute) => {
      const isCallerPresent = call.phase !== "ended" && (await seeCaller(ports, place, call, cause))
      const command = { type: "BeginMinute" as const, callId, minute, isCallerPresent }
      const told = await tellCall(ports, place, command, cause)
      const hasBegun = told.facts.some(({ type }) => type === "CallMinuteStarted")
      return { view: told.call, hasBegun }
    },
    chargeOf: (call, minute, now) => {
      const { unitPriceMicros, priceVersion } = minutePrice(call)
      const startedAt = minute === 1 ? null : startOfMinute(call, minute)
      // A minute that is over was spoken while nobody could charge it.
      const isLate = startedAt !== null && now - startedAt > MINUTE_MS
      return {
        item: "call_minute",
        unitPriceMicros: minute === 1 ? firstMinutePrice(call) : unitPriceMicros,
        priceVersion,
        isPending: true,
        dueAt: startedAt,
        servedFrom: isLate ? startedAt : null,
      }
    },
    record: async (minute, refused) => {
      const type = refused === null ? ("PayMinute" as const) : ("RefuseMinute" as const)
      return (await tellCall(ports, place, { type, callId, minute }, cause)).call
    },
  }
}

/** Whether the carrier says that the caller is there; what it says that was missed is told to the call. */
export async function seeCaller(
  ports: Pick<Ports, "pacer" | "runner" | "voice">,
  place: CallPlace,
  { offered, heardAt }: Live,
  cause: Cause,
): Promise<boolean> {
  const { voice, pacer } = ports
  const asked = voice.askCall(offered.carrierRef)
  const knowledge = await knownInTime(pacer, "the carrier of calls", asked)
  if (knowledge === null) return false
  for (const missed of missedOf(place.callId, 0, knowledge, heardAt)) {
    await tellCall(ports, place, missed, cause)
  }
  return knowledge.isAlive
}

/** Ends what is open and known of a call's minutes. Done again it changes nothing. */
async function settleMinutes(
  ports: Pick<Ports, "closeCharge" | "projector" | "readAll" | "runner" | "store">,
  { companyId, callId }: CallPlace,
  call: Live,
  cause: Cause,
): Promise<void> {
  const { begun, isLastRefused, known, isFinal } = minutesOf(call)
  const open = await openMinutes(ports, { companyId, callId }, begun)
  for (const minute of open) {
    if (minute <= known) {
      await endCharge(ports, companyId, minuteName(callId, minute), partBack(call, minute), cause)
    } else if (isFinal || (isLastRefused && minute === begun)) {
      // Of two who ask for a minute at once one may be refused and the other not: a refusal stands.
      const reason = call.answeredAt === null ? UNANSWERED : ENDED_BEFORE
      await endCharge(
        ports,
        companyId,
        minuteName(callId, minute),
        { amountMicros: null, reason },
        cause,
      )
    }
  }
  if (!isFinal) return
  // Those that were closed while it seemed to last, before the carrier said when it had ended.
  for (let minute = known + 1; minute <= Math.min(begun, seenMinutes(call)); minute += 1) {
    if (open.includes(minute)) continue
    await refundByName(ports, companyId, minuteName(callId, minute), ENDED_BEFORE, cause)
  }
}

/** Those of a call's minutes whose charges are open. */
function openMinutes(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallPlace,
  begun: number,
): Promise<readonly number[]> {
  const minutes = Array.from({ length: begun }, (_, i) => i + 1)
  return runner.readLatest(ledgerOf(companyId), (state) =>
    minutes.filter((minute) => resourceOfOpen(state, minuteName(callId, minute)) !== null),
  )
}

/** Whether each minute of a call that is over has begun, is charged, and is settled. */
export async function isPaid(
  ports: Pick<Ports, "runner">,
  place: CallPlace,
  call: Live,
): Promise<boolean> {
  const { begun, owed, next, isFinal } = minutesOf(call)
  if (!isFinal || owed !== null || next !== null) return false
  return (await openMinutes(ports, place, begun)).length === 0
}

/** What comes back of a minute that began: the first was charged at the dearest there was. */
function partBack(call: Live, minute: number): Back | null {
  if (minute > 1) return null
  const amountMicros = firstMinutePrice(call) - minutePrice(call).unitPriceMicros
  return amountMicros === 0 ? null : { amountMicros, reason: CHEAPER }
}

/** What the charge of a call names begins with this. */
const CALL_PREFIX = "call"

/** Ends the open charges of a call's minutes that nothing else ended. */
export const reconciledCall: Reconciled = {
  prefix: CALL_PREFIX,
  streamOf: (companyId, resource) => {
    const callId = parseCallId(resource)
    return callId === null ? null : callStreamOf(companyId, callId).stream
  },
  neverBegun: "the call was never offered",
  abandon: async (ports, { companyId, resource }, cause) => {
    const callId = parseCallId(resource)
    if (callId === null) throw new Error(`${resource} is no call`)
    const call = await payCall(ports, { companyId, callId }, cause)
    if (call === null) return "never begun"
    return minutesOf(call).isFinal ? "ended" : "open"
  },
}

/** Whoever takes a call in charges its first minute at once: this stands behind it. */
const PAID_BY_MS = 2_000

/** Whatever is said of the end of a call may change what its minutes come to. */
function settle(
  { callId, at }: CallFact<"CallerHungUp" | "CallEnded">,
  { revision }: Pick<At<"CallerHungUp">, "revision">,
) {
  return [{ name: `${callId}:${revision}`, payload: { callId }, dueAt: at }]
}

/** Charges the minutes of a call as they begin, and ends their charges when it is over. */
export const callMinute = reaction({
  kind: "charge-call-minute",
  payload: z.object({ callId: idSchema(parseCallId) }),
  from: {
    CallMinuteStarted: ({ callId, minute, at }) =>
      minute === 1
        ? [{ name: `${callId}:first`, payload: { callId }, dueAt: at + PAID_BY_MS }]
        : [],
    CallerAnswered: ({ callId, at }) => [{ name: callId, payload: { callId }, dueAt: at }],
    CallerHungUp: settle,
    CallEnded: settle,
  },
  giveUp: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await payCall(ports, { companyId, callId }, causedBy(`charge-call-minute ${name}`))
    const next = call === null ? null : minutesOf(call).next
    // One row looks at each minute of a call as it begins.
    const isOwn = name === callId && next !== null
    return isOwn ? { result: "later", dueAt: next.dueAt } : { result: "done" }
  },
})
