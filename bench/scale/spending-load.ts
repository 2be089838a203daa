/** Companies that spend, wherever the same is measured with and without what follows. */

/** So many, with a caller each. */
export const SPENDING_COMPANIES = 256
/** What each of them is made of. */
export const SPENDING_COMPANY_SIZE = { people: 1, keys: 1 }
/** Calls that each has ready. */
export const PREPARED_CALLS = 200
/** How long they spend, milliseconds. */
export const SPENDING_MS = 3_000
