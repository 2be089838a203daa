/** Incoming calls: who is rung, what is recorded, and each started minute paid. */
import { CALL, CALL_SLOTS } from "../../domain/voice/aggregates.ts"
import { calls, countCalls } from "../../projections/voice/calls.ts"
import type { Measure } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { listPhoneCalls } from "./list-calls.ts"
import { callOperations } from "./operate/calls.ts"
import { carrierCallOperations } from "./operate/call-in.ts"
import { voiceProvider } from "./providers/voice.ts"
import { callDo } from "./reactions/call-do.ts"
import { callMinute, reconciledCall } from "./pay-call.ts"
import { callTimer, callWatch } from "./reactions/call-timer.ts"
import { freeCallSlot } from "./offer-call.ts"
import { telnyxCalls } from "./webhooks/telnyx-calls.ts"

const callMeasure: Measure = {
  name: "ledger_phone_calls",
  help: "Incoming calls by how far they have come.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countCalls(readAll)).map(({ status, count }) => ({ labels: { status }, value: count })),
}

const nobodyMeasure: Measure = {
  name: "ledger_phone_calls_to_nobody_total",
  help: "What a carrier said of calls to numbers that nobody here holds.",
  isCount: true,
  read: async ({ counts }) => counts.read("calls_to_nobody"),
}

/** Calls that come to companies' numbers. */
export const voice: Slice = {
  name: "voice",
  streams: { ofCompanies: [CALL, CALL_SLOTS] },
  routes: [listPhoneCalls],
  readModels: [calls],
  reactions: [callDo, callTimer, callWatch, callMinute, freeCallSlot],
  reconciled: [reconciledCall],
  webhooks: [telnyxCalls],
  providers: [voiceProvider],
  operations: [...carrierCallOperations, ...callOperations],
  measures: [callMeasure, nobodyMeasure],
  topics: { call: "incoming calls" },
}
