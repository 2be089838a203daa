/** What of a call its values do not say: how it was sent, and from where. */

/** Header fields by their names in small letters; each with all values that were sent, apart. */
export type Fields = Readonly<Record<string, readonly string[] | undefined>>

/** A call as it was sent. */
export interface AsSent {
  readonly requestId: string
  readonly headers: Fields
  /** Path and query as they were sent: what a signature is over. */
  readonly target: string
  /** Where it comes from, as far as trusted proxies say. */
  readonly address: string
}

/** The first value of a header field; null where it was not sent. */
export function fieldOf({ headers }: Pick<AsSent, "headers">, name: string): string | null {
  return headers[name]?.[0] ?? null
}
