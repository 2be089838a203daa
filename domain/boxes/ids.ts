import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `box_` and a unique part. */
export type BoxId = `box_${string}`

export const parseBoxId = createIdParser("box_")

export const boxId = idFieldType("a box's id", parseBoxId)
