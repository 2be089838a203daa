/** All box sizes, smallest first. */
export const BOX_SIZES = ["small", "medium", "large", "xlarge"] as const

export type BoxSize = (typeof BOX_SIZES)[number]

/** Concurrent boxes by plan (specification, "Box limits"). */
export const MAX_BOXES_BY_PLAN = { payg: 2, "29": 5, "79": 10, "197": 25, "329": 50 } as const
