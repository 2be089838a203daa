/** Names of what calls are about. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `call_` and a unique part. */
export type CallId = `call_${string}`

/** The call id that a text is. */
export const parseCallId = idParser("call_")

/** Ids of calls, in the forms of facts. */
export const callId = idKind("a call's id", parseCallId)
