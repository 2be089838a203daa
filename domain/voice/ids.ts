import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `call_` and a unique part. */
export type CallId = `call_${string}`

/** Parses a call id. */
export const parseCallId = createIdParser("call_")

/** The field type of call ids. */
export const callId = idFieldType("a call's id", parseCallId)
