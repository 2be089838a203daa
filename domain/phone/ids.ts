import { idFieldType } from "../kernel/id-field-types.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `msg_` and a unique part. */
export type MessageId = `msg_${string}`
/** `num_` and a unique part. */
export type NumberId = `num_${string}`
/** A recipient of a company: the keyed hash of the phone number. */
export type RecipientTag = KeyedHash

export const parseMessageId = createIdParser("msg_")
export const parseNumberId = createIdParser("num_")

export const messageId = idFieldType("a message's id", parseMessageId)
export const numberId = idFieldType("a number's id", parseNumberId)
