/** Incoming calls: who is rung, what is recorded, and each started minute paid. */
import { CALL, CALL_SLOTS } from "../../domain/voice/aggregates.ts"
import type { Slice } from "../frame/slice.ts"

/** Calls. */
export const voice: Slice = {
  name: "voice",
  streams: { ofCompanies: [CALL, CALL_SLOTS] },
}
