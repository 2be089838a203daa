/** The load of callers over HTTP, and its result. */

/** A request that each connection repeats after every answer. */
export interface HttpLoad {
  /** The server's port on this machine. */
  readonly port: number
  readonly method: "GET" | "POST"
  readonly path: string
  /** The Host header; default the address. */
  readonly host?: string
  readonly cookie?: string
  /** API keys, used in turn; empty if none is needed. */
  readonly keys: readonly string[]
  /** Each call carries a text to a new recipient. */
  readonly isTexting?: boolean
  /** Each call carries an `Idempotency-Key` of its own. */
  readonly hasIdempotencyKeys?: boolean
  readonly connections: number
  /** No new requests after this time; pending ones are awaited, and their time counts. */
  readonly forMs: number
}

export interface HttpLoadResult {
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<number, number>>
  /** Answers of status 200 per second. */
  readonly perSecond: number
  /** The `id` of each acknowledged text. */
  readonly ids: readonly string[]
}
