/** Names of what the phone knows. */
import { idFieldType } from "../kernel/id-field-types.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `msg_` and a unique part. */
export type MessageId = `msg_${string}`
/** `num_` and a unique part. */
export type NumberId = `num_${string}`
/** A recipient within a company: the keyed hash of the phone number. */
export type RecipientTag = KeyedHash

/** The message id that a text is. */
export const parseMessageId = createIdParser("msg_")
/** The number id that a text is. */
export const parseNumberId = createIdParser("num_")

/** Ids of messages, in the forms of facts. */
export const messageId = idFieldType("a message's id", parseMessageId)
/** Ids of numbers, in the forms of facts. */
export const numberId = idFieldType("a number's id", parseNumberId)
