/** Companies that spend, wherever the same is measured with and without what follows. */

/** So many, with a caller each. */
export const SPENDING = 256
/** What each of them is made of. */
export const SIZE = { people: 1, keys: 1 }
/** Calls that each has ready. */
export const DRAWN = 200
/** How long they spend, milliseconds. */
export const FOR_MS = 3_000
