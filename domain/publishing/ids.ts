import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `pub_` and a unique part. */
export type PublishId = `pub_${string}`

export const parsePublishId = createIdParser("pub_")

export const publishId = idFieldType("a publish's id", parsePublishId)
