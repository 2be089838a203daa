/** Names of what is told of code. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `push_` and a unique part. */
export type PushId = `push_${string}`

/** The push id that a text is. */
export const parsePushId = idParser("push_")

/** Ids of pushes, in the forms of facts. */
export const pushId = idKind("a push's id", parsePushId)
