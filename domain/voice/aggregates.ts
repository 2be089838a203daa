/** A company's calls: the stream `calls-<companyId>` of its slots, and each call. */
import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { SlotEvent } from "../kernel/slots.ts"
import { slotsFor } from "../kernel/slots.ts"
import type { CallEvent } from "./call-events.ts"
import { callCodec } from "./call-events.ts"
import { callBytes, callCheckpoint } from "./call-state.ts"
import { call } from "./call.ts"
import type { CallId } from "./ids.ts"
import { callId as callIdKind } from "./ids.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly call: CallEvent
    readonly calls: SlotEvent<CallId>
  }
}

/** How many calls of a company run at once: the next is turned away unanswered and costs nothing. */
export const MOST_AT_ONCE = 20
/** How many calls one caller has within the window. */
export const MOST_OF_ONE = 10
/** The window, milliseconds. */
export const WINDOW_MS = 10 * 60_000

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
export const CALL_SLOTS = { category: "calls" as const, ...slotsFor(callIdKind, WINDOW_MS) }

/** The stream of a company's slots. */
export const callSlotsOf = (companyId: CompanyId) => streamOf(CALL_SLOTS, companyId)
