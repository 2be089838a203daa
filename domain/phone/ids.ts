import { idFieldType } from "../kernel/id-field-types.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `msg_` and a unique part. */
export type MessageId = `msg_${string}`
/** `num_` and a unique part. */
export type NumberId = `num_${string}`
/** A recipient of a company: the keyed hash of the phone number. */
export type RecipientTag = KeyedHash

/** Parses a message id. */
export const parseMessageId = createIdParser("msg_")
/** Parses a number id. */
export const parseNumberId = createIdParser("num_")

/** The field type of message ids. */
export const messageId = idFieldType("a message's id", parseMessageId)
/** The field type of number ids. */
export const numberId = idFieldType("a number's id", parseNumberId)
