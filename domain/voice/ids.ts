/** Names of what calls are about. */
import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `call_` and a unique part. */
export type CallId = `call_${string}`

/** The call id that a text is. */
export const parseCallId = createIdParser("call_")

/** Ids of calls, in the forms of facts. */
export const callId = idFieldType("a call's id", parseCallId)
