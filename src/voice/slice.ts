import { CALL_AGGREGATE, CALL_SLOTS_AGGREGATE } from "../../domain/voice/aggregates.ts"
import { callsReadModel, countCalls } from "../../projections/voice/calls.ts"
import type { Metric } from "../frame/http/metrics.ts"
import type { Slice } from "../frame/slice.ts"
import { listPhoneCalls } from "./list-calls.ts"
import { phoneCallOperations } from "./operate/calls.ts"
import { carrierCallOperations } from "./operate/call-in.ts"
import { voiceProvider } from "./providers/voice.ts"
import { sendCallCommands } from "./reactions/send-call-commands.ts"
import { chargeCallMinute, callReconciliation } from "./charge-call.ts"
import { callTimer, checkCall } from "./reactions/call-timers.ts"
import { releaseCallSlot } from "./offer-call.ts"
import { telnyxCallWebhook } from "./webhooks/telnyx-calls.ts"

const callMetric: Metric = {
  name: "ledger_phone_calls",
  help: "Incoming calls by status.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countCalls(readAll)).map(({ status, count }) => ({ labels: { status }, value: count })),
}

const unknownNumberMetric: Metric = {
  name: "ledger_phone_calls_to_unknown_numbers_total",
  help: "Carrier events about calls to numbers that no company holds.",
  isCounter: true,
  read: async ({ counters }) => counters.read("calls_to_unknown_numbers"),
}

/** Incoming calls: ringing, recording, and charging each started minute. */
export const voiceSlice: Slice = {
  name: "voice",
  streams: { perCompany: [CALL_AGGREGATE, CALL_SLOTS_AGGREGATE] },
  routes: [listPhoneCalls],
  readModels: [callsReadModel],
  reactions: [sendCallCommands, callTimer, checkCall, chargeCallMinute, releaseCallSlot],
  reconciliations: [callReconciliation],
  webhooks: [telnyxCallWebhook],
  providers: [voiceProvider],
  commands: [...carrierCallOperations, ...phoneCallOperations],
  metrics: [callMetric, unknownNumberMetric],
  topics: { call: "incoming calls" },
}
