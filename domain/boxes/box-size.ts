/** How large a box is. */

/** Every size, the smallest first. */
export const BOX_SIZES = ["small", "medium", "large", "xlarge"] as const

/** How large a box is. */
export type BoxSize = (typeof BOX_SIZES)[number]
