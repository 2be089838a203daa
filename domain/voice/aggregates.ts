/** A company's calls: the stream `calls-<companyId>` of its slots, and each call. */
import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { SlotEvent } from "../kernel/slots.ts"
import { defineSlots } from "../kernel/slots.ts"
import type { CallEvent } from "./call-events.ts"
import { callCodec } from "./call-events.ts"
import { callBytes, callCheckpoint } from "./call-state.ts"
import { callDecider } from "./call.ts"
import type { CallId } from "./ids.ts"
import { callId as callIdKind } from "./ids.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly call: CallEvent
    readonly calls: SlotEvent<CallId>
  }
}

/** How many calls of a company run at once: the next is turned away unanswered and costs nothing. */
export const MAX_CONCURRENT_CALLS = 20
/** How many calls one caller has within the window. */
export const MAX_CALLS_PER_CALLER = 10
/** The window, milliseconds. */
export const CALLER_LIMIT_WINDOW_MS = 10 * 60_000

/** A call. */
export const CALL_AGGREGATE = {
  category: "call" as const,
  decider: callDecider,
  codec: callCodec,
  checkpoint: callCheckpoint,
  bytesOf: callBytes,
}

/** The stream `call-<companyId>-<callId>` of a call. */
export const callStreamOf = (companyId: CompanyId, callId: CallId) =>
  streamOf(CALL_AGGREGATE, companyId, callId)

/** The slots of a company's calls. */
export const CALL_SLOTS_AGGREGATE = {
  category: "calls" as const,
  ...defineSlots(callIdKind, CALLER_LIMIT_WINDOW_MS),
}

/** The stream of a company's slots. */
export const callSlotsStreamOf = (companyId: CompanyId) => streamOf(CALL_SLOTS_AGGREGATE, companyId)
