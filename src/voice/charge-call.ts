/**
 * Charges the minutes of calls. All charges derive from the call's facts, so a crash is repaired by repeating.
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
import { parseCallId } from "../../domain/kernel/calls.ts"
import type { Reconciliation } from "../frame/effects/reconcile.ts"
import { z } from "zod"
import type { CallFact } from "../../domain/voice/call-events.ts"
import type { RecordedFactOf } from "../frame/effects/reaction.ts"
import { reaction } from "../frame/effects/reaction.ts"
import { idSchema } from "../frame/kernel/schema.ts"

const UNANSWERED = "the call was not answered"
const ENDED_BEFORE = "the call ended before this minute began"
const CHEAPER = "the phone that took the call costs less"

/**
 * Starts and charges due minutes, and settles known ones; `searchedTo` is the revision without a first charge.
 */
export async function chargeCall(
  ports: Ports,
  reference: CallReference,
  cause: Cause,
  searchedTo: number | null = null,
): Promise<OfferedCall | null> {
  const call = await chargeMinutes(ports, callMinutes(ports, reference, cause), cause, searchedTo)
  if (call !== null) await settleMinutes(ports, reference, call, cause)
  return call
}

function callMinutes(
  ports: Pick<Ports, "pacer" | "runner" | "voice">,
  reference: CallReference,
  cause: Cause,
): MeteredMinutes<OfferedCall> {
  const { companyId, callId } = reference
  return {
    companyId,
    resource: callId,
    read: () => readCall(ports, reference),
    schedule: callMinutesOf,
    // Minutes of an ended call were spoken; otherwise the carrier says whether the caller is still there.
    beginMinute: async (call, minute) => {
      const isCallerPresent =
        call.phase !== "ended" && (await checkCallerLeg(ports, reference, call, cause))
      const command = { type: "StartMinute" as const, callId, minute, isCallerPresent }
      const outcome = await executeCallCommand(ports, reference, command, cause)
      const hasBegun = outcome.facts.some(({ type }) => type === "CallMinuteStarted")
      return { view: outcome.call, hasBegun }
    },
    chargeOf: (call, minute, now) => {
      const { unitPriceMicros, priceVersion } = callMinutePrice(call)
      const startedAt = minute === 1 ? null : minuteStartedAt(call, minute)
      // A minute that is already over was spoken while the charge could not be made.
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
      return (await executeCallCommand(ports, reference, { type, callId, minute }, cause)).call
    },
  }
}

/** Asks the carrier whether the caller is still connected, and records the events that we missed. */
export async function checkCallerLeg(
  ports: Pick<Ports, "pacer" | "runner" | "voice">,
  reference: CallReference,
  { offered, heardAt }: OfferedCall,
  cause: Cause,
): Promise<boolean> {
  const { voice, pacer } = ports
  const query = voice.checkLegStatus(offered.carrierRef)
  const status = await providerResultOrNull(pacer, "the carrier of calls", query)
  if (status === null) return false
  for (const missed of missedCommandsOf(reference.callId, 0, status, heardAt)) {
    await executeCallCommand(ports, reference, missed, cause)
  }
  return status.isAlive
}

/** Settles or refunds the pending minutes with a known outcome. Repeating it changes nothing. */
async function settleMinutes(
  ports: Pick<Ports, "settleCharge" | "projector" | "readAll" | "runner" | "store">,
  { companyId, callId }: CallReference,
  call: OfferedCall,
  cause: Cause,
): Promise<void> {
  const { started, isLastRefused, confirmed, isFinal } = callMinutesOf(call)
  const pendingMinutes = await findPendingMinutes(ports, { companyId, callId }, started)
  for (const minute of pendingMinutes) {
    if (minute <= confirmed) {
      await settleOrRefund(
        ports,
        companyId,
        minuteChargeId(callId, minute),
        firstMinuteRefund(call, minute),
        cause,
      )
    } else if (isFinal || (isLastRefused && minute === started)) {
      // Two concurrent attempts to charge a minute may end differently; the refusal wins.
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
  // Refund minutes that were settled before the carrier reported the real end of the call.
  for (
    let minute = confirmed + 1;
    minute <= Math.min(started, confirmedMinutes(call));
    minute += 1
  ) {
    if (pendingMinutes.includes(minute)) continue
    await refundSettledById(ports, companyId, minuteChargeId(callId, minute), ENDED_BEFORE, cause)
  }
}

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

/** Whether all minutes of an ended call are charged and settled. */
export async function isCallSettled(
  ports: Pick<Ports, "runner">,
  reference: CallReference,
  call: OfferedCall,
): Promise<boolean> {
  const { started, owed, next, isFinal } = callMinutesOf(call)
  if (!isFinal || owed !== null || next !== null) return false
  return (await findPendingMinutes(ports, reference, started)).length === 0
}

/** The refund of a started minute: the first is charged at the highest price of all phones that ring. */
function firstMinuteRefund(call: OfferedCall, minute: number): Refund | null {
  if (minute > 1) return null
  const amountMicros = firstCallMinutePrice(call) - callMinutePrice(call).unitPriceMicros
  return amountMicros === 0 ? null : { amountMicros, reason: CHEAPER }
}

const CALL_PREFIX = "call"

/** Settles pending charges of calls after a crash. */
export const callReconciliation: Reconciliation = {
  prefix: CALL_PREFIX,
  streamOf: (companyId, resource) => {
    const callId = parseCallId(resource)
    return callId === null ? null : callStreamOf(companyId, callId).stream
  },
  neverBegunReason: "the call was never offered",
  abandon: async (ports, { companyId, resource }, cause) => {
    const callId = parseCallId(resource)
    if (callId === null) throw new Error(`${resource} is not a call`)
    const call = await chargeCall(ports, { companyId, callId }, cause)
    if (call === null) return "never begun"
    return callMinutesOf(call).isFinal ? "ended" : "open"
  },
}

/** The process that receives a call charges its first minute immediately; this delay is for its crash. */
const FIRST_CHARGE_WAIT_MS = 2_000

/** A report about the end of a call may change its number of minutes. */
function settlementJobs(
  { callId, at }: CallFact<"CallerHungUp" | "CallEnded">,
  { revision }: Pick<RecordedFactOf<"CallerHungUp">, "revision">,
) {
  return [{ name: `${callId}:${revision}`, payload: { callId }, dueAt: at }]
}

/** Charges the minutes of a call as they begin, and settles them after its end. */
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
  discard: "never",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const call = await chargeCall(
      ports,
      { companyId, callId },
      causedBy(`charge-call-minute ${name}`),
    )
    const next = call === null ? null : callMinutesOf(call).next
    // Only one job follows the minutes of a call.
    const isFollower = name === callId && next !== null
    return isFollower ? { result: "rescheduled", dueAt: next.dueAt } : { result: "done" }
  },
})
