/** Companies that spend, for measurements with and without consequences. */

/** Number of companies, each with one caller. */
export const SPENDING_COMPANIES = 256
export const SPENDING_COMPANY_SIZE = { people: 1, keys: 1 }
export const PREPARED_CALLS = 200
/** How long they spend. */
export const SPENDING_MS = 3_000
