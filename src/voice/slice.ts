/** Incoming calls: who is rung, what is recorded, and each started minute paid. */
import { CALL, CALL_SLOTS } from "../../domain/voice/aggregates.ts"
import { calls } from "../../projections/voice/calls.ts"
import type { Slice } from "../frame/slice.ts"
import { listPhoneCalls } from "./list-calls.ts"
import { callOperations } from "./operate/calls.ts"
import { carrierCallOperations } from "./operate/call-in.ts"
import { voiceProvider } from "./providers/voice.ts"
import { callDo } from "./reactions/call-do.ts"
import { callMinute } from "./reactions/call-minute.ts"
import { callTimer, callWatch } from "./reactions/call-timer.ts"
import { freeCallSlot } from "./reactions/free-call-slot.ts"
import { reconciledCall } from "./reconciled-call.ts"
import { telnyxCalls } from "./webhooks/telnyx-calls.ts"

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
  topics: { call: "incoming calls" },
}
