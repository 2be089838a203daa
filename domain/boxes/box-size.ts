/** How large a box is. */

/** Every size, the smallest first. */
export const BOX_SIZES = ["small", "medium", "large", "xlarge"] as const

/** How large a box is. */
export type BoxSize = (typeof BOX_SIZES)[number]

/** How many boxes each plan has at once (specification, "Box limits"). */
export const MAX_BOXES_BY_PLAN = { payg: 2, "29": 5, "79": 10, "197": 25, "329": 50 } as const
