/** A company's calls: the stream `calls-<companyId>` of its slots, and each call. */
import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { CallEvent } from "./call-events.ts"
import { callCodec } from "./call-events.ts"
import type { CallSlotEvent } from "./call-slots.ts"
import { callSlotCheckpoint, callSlotCodec, callSlots } from "./call-slots.ts"
import { callBytes, callCheckpoint } from "./call-state.ts"
import { call } from "./call.ts"
import type { CallId } from "./ids.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly call: CallEvent
    readonly calls: CallSlotEvent
  }
}

/** A call. */
export const CALL = {
  category: "call" as const,
  decider: call,
  codec: callCodec,
  checkpoint: callCheckpoint,
  bytesOf: callBytes,
}

/** The stream `call-<companyId>-<callId>` of a call. */
export const callStreamOf = (companyId: CompanyId, callId: CallId) =>
  streamOf(CALL, companyId, callId)

/** The slots of a company's calls. */
export const CALL_SLOTS = {
  category: "calls" as const,
  decider: callSlots,
  codec: callSlotCodec,
  checkpoint: callSlotCheckpoint,
}

/** The stream of a company's slots. */
export const callSlotsOf = (companyId: CompanyId) => streamOf(CALL_SLOTS, companyId)
