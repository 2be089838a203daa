/** Names of what publishing is about. */
import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `pub_` and a unique part. */
export type PublishId = `pub_${string}`

/** The publish id that a text is. */
export const parsePublishId = createIdParser("pub_")

/** Ids of publishes, in the forms of facts. */
export const publishId = idFieldType("a publish's id", parsePublishId)
