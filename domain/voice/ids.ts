/** Names of what calls are about. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser, parseKeyedHash } from "../kernel/ids.ts"

/** `call_` and a unique part. */
export type CallId = `call_${string}`

/** The call id that a text is. */
export const parseCallId = idParser("call_")

/** Ids of calls, in the forms of facts. */
export const callId = idKind("a call's id", parseCallId)

/** A caller within a company, in the forms of facts: the keyed hash of the number. */
export const callerTag = idKind("a keyed hash", parseKeyedHash)
