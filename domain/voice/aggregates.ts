import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { SlotEvent } from "../kernel/slots.ts"
import { defineSlots } from "../kernel/slots.ts"
import type { CallEvent } from "./call-events.ts"
import { callCodec } from "./call-events.ts"
import { callBytes, callCheckpoint } from "./call-state.ts"
import { callDecider } from "./call.ts"
import type { CallId } from "../kernel/calls.ts"
import { callId as callIdType } from "../kernel/calls.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly call: CallEvent
    readonly calls: SlotEvent<CallId>
  }
}

/** Maximum number of concurrent calls of a company: further calls are rejected unanswered and free of charge. */
export const MAX_CONCURRENT_CALLS = 20
/** Maximum number of calls of one caller within the window. */
export const MAX_CALLS_PER_CALLER = 10
/** The window in milliseconds. */
export const CALLER_LIMIT_WINDOW_MS = 10 * 60_000

export const CALL_AGGREGATE = {
  category: "call" as const,
  decider: callDecider,
  codec: callCodec,
  checkpoint: callCheckpoint,
  bytesOf: callBytes,
}

/** Names the stream `call-<companyId>-<callId>`. */
export const callStreamOf = (companyId: CompanyId, callId: CallId) =>
  streamOf(CALL_AGGREGATE, companyId, callId)

/** The slots of a company's calls. */
export const CALL_SLOTS_AGGREGATE = {
  category: "calls" as const,
  ...defineSlots(callIdType, CALLER_LIMIT_WINDOW_MS),
}

/** Names the stream `calls-<companyId>` of a company's call slots. */
export const callSlotsStreamOf = (companyId: CompanyId) => streamOf(CALL_SLOTS_AGGREGATE, companyId)
