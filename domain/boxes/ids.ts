/** Names of what boxes are about. */
import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `box_` and a unique part. */
export type BoxId = `box_${string}`

/** The box id that a text is. */
export const parseBoxId = createIdParser("box_")

/** Ids of boxes, in the forms of facts. */
export const boxId = idFieldType("a box's id", parseBoxId)
