/** What callers over HTTP are told to ask, and what they tell of the answers. */

/** What is asked again and again, by each connection as soon as it was answered. */
export interface HttpLoad {
  /** Where it listens on this machine. */
  readonly port: number
  readonly method: "GET" | "POST"
  readonly path: string
  /** Whom it is for; default the address. */
  readonly host?: string
  readonly cookie?: string
  /** API keys, taken in turn; none for what needs none. */
  readonly keys: readonly string[]
  /** Each call carries a text to somebody who was never texted before. */
  readonly isTexting?: boolean
  /** Each call carries an `Idempotency-Key` of its own. */
  readonly hasIdempotencyKeys?: boolean
  readonly connections: number
  /** After so long nobody asks anew; those who wait are waited for, and their time counts. */
  readonly forMs: number
}

/** What came of it. */
export interface HttpLoadResult {
  /** How many answers there were of each status. */
  readonly statuses: Readonly<Record<number, number>>
  /** Answers of status 200 a second. */
  readonly perSecond: number
  /** The `id` of each text that was acknowledged. */
  readonly ids: readonly string[]
}
