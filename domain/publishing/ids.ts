/** Names of what publishing is about. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `pub_` and a unique part. */
export type PublishId = `pub_${string}`

/** The publish id that a text is. */
export const parsePublishId = idParser("pub_")

/** Ids of publishes, in the forms of facts. */
export const publishId = idKind("a publish's id", parsePublishId)
