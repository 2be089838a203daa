/** Ids of calls and kinds of their recordings, shared by the slices of calls and of recordings. */
import { idFieldType } from "./id-field-types.ts"
import { createIdParser } from "./ids.ts"

/** `call_` and a unique part. */
export type CallId = `call_${string}`

export const parseCallId = createIdParser("call_")

export const callId = idFieldType("a call's id", parseCallId)

/** The kinds of recordings: the conversation, or a voicemail. */
export const AUDIO_KINDS = ["call", "voicemail"] as const

export type AudioKind = (typeof AUDIO_KINDS)[number]
