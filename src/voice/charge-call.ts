/**
 * The minutes of a call: each is charged once to the company, open until it is known to have begun.
 * Whichever process comes first brings into the ledger what a call's facts say of its minutes, and does
 * so again after a crash at any line.
 */
import { providerResultOrNull } from "../../adapters/providers/provider-errors.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { resourceOfPendingCharge } from "../../domain/charging/ledger-views.ts"
import {
  CALL_MINUTE_MS,
  firstCallMinutePrice,
  callMinutePrice,
  callMinutesOf,
  confirmedMinutes,
  minuteStartedAt,
} from "../../domain/voice/call-minutes.ts"
import type { OfferedCall } from "../../domain/voice/call-state.ts"
import { missedCommandsOf } from "../../domain/voice/call-commands.ts"
import type { Refund } from "../frame/effects/charges.ts"
import { refundSettledById, settleOrRefund } from "../frame/effects/charges.ts"
import type { MeteredMinutes } from "../frame/effects/minutes.ts"
import { minuteChargeId, chargeMinutes } from "../frame/effects/minutes.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallReference } from "./call-stream.ts"
import { readCall, executeCallCommand } from "./call-stream.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import { parseCallId } from "../../domain/voice/ids.ts"
import type { Reconciliation } from "../frame/effects/reconcile.ts"
import { z } from "zod"
import type { CallFact } from "../../domain/voice/call-events.ts"
import type { RecordedFactOf } from "../frame/effects/reaction.ts"
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
export async function chargeCall(
  ports: Ports,
  place: CallReference,
  cause: Cause,
  searchedTo: number | null = null,
): Promise<OfferedCall | null> {
  const call = await chargeMinutes(ports, callMinutes(ports, place, cause), cause, searchedTo)
  if (call !== null) await settleMinutes(ports, place, call, cause)
  return call
}

function callMinutes(
  ports: Pick<Ports, "pacer" | "runner" | "voice">,
  place: CallReference,
  cause: Cause,
): MeteredMinutes<OfferedCall> {
  const { companyId, callId } = place
  return {
    companyId,
    resource: callId,
    read: () => readCall(ports, place),
    schedule: callMinutesOf,
    // A minute of a call that is over was spoken; else the carrier says whether the caller is there.
    beginMinute: async (call, minute) => {
      const isCallerPresent =
        call.phase !== "ended" && (await checkCallerLeg(ports, place, call, cause))
      const command = { type: "StartMinute" as const, callId, minute, isCallerPresent }
      const told = await executeCallCommand(ports, place, command, cause)
      const hasBegun = told.facts.some(({ type }) => type === "CallMinuteStarted")
      return { view: told.call, hasBegun }
    },
    chargeOf: (call, minute, now) => {
      const { unitPriceMicros, priceVersion } = callMinutePrice(call)
      const startedAt = minute === 1 ? null : minuteStartedAt(call, minute)
      // A minute that is over was spoken while nobody could charge it.
      const isLate = startedAt !== null && now - startedAt > CALL_MINUTE_MS
      return {
        item: "call_minute",
        unitPriceMicros: minute === 1 ? firstCallMinutePrice(call) : unitPriceMicros,
        priceVersion,
        isPending: true,
        dueAt: startedAt,
        servedFrom: isLate ? startedAt : null,
      }
    },
    recordCharge: async (minute, refused) => {
      const type = refused === null ? ("PayMinute" as const) : ("RefuseMinute" as const)
      return (await executeCallCommand(ports, place, { type, callId, minute }, cause)).call
    },
  }
}

/** Whether the carrier says that the caller is there; what it says that was missed is told to the call. */
export async function checkCallerLeg(
  ports: Pick<Ports, "pacer" | "runner" | "voice">,
  place: CallReference,
  { offered, heardAt }: OfferedCall,
  cause: Cause,
): Promise<boolean> {
  const { voice, pacer } = ports
  const asked = voice.checkLegStatus(offered.carrierRef)
  const knowledge = await providerResultOrNull(pacer, "the carrier of calls", asked)
  if (knowledge === null) return false
  for (const missed of missedCommandsOf(place.callId, 0, knowledge, heardAt)) {
    await executeCallCommand(ports, place, missed, cause)
  }
  return knowledge.isAlive
}

/** Ends what is open and known of a call's minutes. Done again it changes nothing. */
async function settleMinutes(
  ports: Pick<Ports, "settleCharge" | "projector" | "readAll" | "runner" | "store">,
  { companyId, callId }: CallReference,
  call: OfferedCall,
  cause: Cause,
): Promise<void> {
  const { started, isLastRefused, confirmed, isFinal } = callMinutesOf(call)
  const open = await findPendingMinutes(ports, { companyId, callId }, started)
  for (const minute of open) {
    if (minute <= confirmed) {
      await settleOrRefund(
        ports,
        companyId,
        minuteChargeId(callId, minute),
        firstMinuteRefund(call, minute),
        cause,
      )
    } else if (isFinal || (isLastRefused && minute === started)) {
      // Of two who ask for a minute at once one may be refused and the other not: a refusal stands.
      const reason = call.answeredAt === null ? UNANSWERED : ENDED_BEFORE
      await settleOrRefund(
        ports,
        companyId,
        minuteChargeId(callId, minute),
        { amountMicros: null, reason },
        cause,
      )
    }
  }
  if (!isFinal) return
  // Those that were closed while it seemed to last, before the carrier said when it had ended.
  for (
    let minute = confirmed + 1;
    minute <= Math.min(started, confirmedMinutes(call));
    minute += 1
  ) {
    if (open.includes(minute)) continue
    await refundSettledById(ports, companyId, minuteChargeId(callId, minute), ENDED_BEFORE, cause)
  }
}

/** Those of a call's minutes whose charges are open. */
function findPendingMinutes(
  { runner }: Pick<Ports, "runner">,
  { companyId, callId }: CallReference,
  begun: number,
): Promise<readonly number[]> {
  const minutes = Array.from({ length: begun }, (_, i) => i + 1)
  return runner.readLatest(ledgerStreamOf(companyId), (state) =>
    minutes.filter(
      (minute) => resourceOfPendingCharge(state, minuteChargeId(callId, minute)) !== null,
    ),
  )
}

/** Whether each minute of a call that is over has begun, is charged, and is settled. */
export async function isCallSettled(
  ports: Pick<Ports, "runner">,
  place: CallReference,
  call: OfferedCall,
): Promise<boolean> {
  const { started, owed, next, isFinal } = callMinutesOf(call)
  if (!isFinal || owed !== null || next !== null) return false
  return (await findPendingMinutes(ports, place, started)).length === 0
}

/** What comes back of a minute that began: the first was charged at the dearest there was. */
function firstMinuteRefund(call: OfferedCall, minute: number): Refund | null {
  if (minute > 1) return null
  const amountMicros = firstCallMinutePrice(call) - callMinutePrice(call).unitPriceMicros
  return amountMicros === 0 ? null : { amountMicros, reason: CHEAPER }
}

/** What the charge of a call names begins with this. */
const CALL_PREFIX = "call"

/** Ends the open charges of a call's minutes that nothing else ended. */
export const callReconciliation: Reconciliation = {
  prefix: CALL_PREFIX,
  streamOf: (companyId, resource) => {
    const callId = parseCallId(resource)
    return callId === null ? null : callStreamOf(companyId, callId).stream
  },
  neverBegunReason: "the call was never offered",
  abandon: async (ports, { companyId, resource }, cause) => {
    const callId = parseCallId(resource)
    if (callId === null) throw new Error(`${resource} is no call`)
    const call = await chargeCall(ports, { companyId, callId }, cause)
    if (call === null) return "never begun"
    return callMinutesOf(call).isFinal ? "ended" : "open"
  },
}

/** Whoever takes a call in charges its first minute at once: this stands behind it. */
const FIRST_CHARGE_WAIT_MS = 2_000

/** Whatever is said of the end of a call may change what its minutes come to. */
function settlementJobs(
  { callId, at }: CallFact<"CallerHungUp" | "CallEnded">,
  { revision }: Pick<RecordedFactOf<"CallerHungUp">, "revision">,
) {
  return [{ name: `${callId}:${revision}`, payload: { callId }, dueAt: at }]
}

/** Charges the minutes of a call as they begin, and ends their charges when it is over. */
export const chargeCallMinute = reaction({
  kind: "charge-call-minute",
  payload: z.object({ callId: idSchema(parseCallId) }),
  on: {
    CallMinuteStarted: ({ callId, minute, at }) =>
      minute === 1
        ? [{ name: `${callId}:first`, payload: { callId }, dueAt: at + FIRST_CHARGE_WAIT_MS }]
        : [],
    CallerAnswered: ({ callId, at }) => [{ name: callId, payload: { callId }, dueAt: at }],
    CallerHungUp: settlementJobs,
    CallEnded: settlementJobs,
  },
  discard: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await chargeCall(
      ports,
      { companyId, callId },
      causedBy(`charge-call-minute ${name}`),
    )
    const next = call === null ? null : callMinutesOf(call).next
    // One row looks at each minute of a call as it begins.
    const isOwn = name === callId && next !== null
    return isOwn ? { result: "later", dueAt: next.dueAt } : { result: "done" }
  },
})
