/** What becomes of an open charge of a call's minute that nothing else ended. */
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import { minutesOf } from "../../domain/voice/call-minutes.ts"
import { parseCallId } from "../../domain/voice/ids.ts"
import type { Reconciled } from "../frame/effects/reconcile.ts"
import { payCall } from "./pay-call.ts"

/** What the charge of a call names begins with this. */
const CALL_PREFIX = "call"

/** What the reconciler does with it: a minute is charged only of a call that was offered. */
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
