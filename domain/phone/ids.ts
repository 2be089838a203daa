/** Names of what the phone knows. */
import { idKind } from "../kernel/id-kinds.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import { idParser } from "../kernel/ids.ts"

/** `msg_` and a unique part. */
export type MessageId = `msg_${string}`
/** `num_` and a unique part. */
export type NumberId = `num_${string}`
/** A recipient within a company: the keyed hash of the phone number. */
export type RecipientTag = KeyedHash

/** The message id that a text is. */
export const parseMessageId = idParser("msg_")
/** The number id that a text is. */
export const parseNumberId = idParser("num_")

/** Ids of messages, in the forms of facts. */
export const messageId = idKind("a message's id", parseMessageId)
/** Ids of numbers, in the forms of facts. */
export const numberId = idKind("a number's id", parseNumberId)
