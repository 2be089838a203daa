/** Names of what boxes are about. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `box_` and a unique part. */
export type BoxId = `box_${string}`

/** The box id that a text is. */
export const parseBoxId = idParser("box_")

/** Ids of boxes, in the forms of facts. */
export const boxId = idKind("a box's id", parseBoxId)
