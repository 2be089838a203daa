/** What is answered in place of JSON: bodies sent piece by piece (made meanwhile, or parts of something stored), pages. */

/** A file that is made while it is sent. */
export interface SentFile {
  readonly mediaType: string
  /** What to call it where it is kept; null for what nobody keeps. */
  readonly name: string | null
  /** Makes it. What is thrown ends the connection before the file does. */
  readonly write: (target: {
    /** Takes a piece; resolves when there is room for the next. */
    readonly send: (piece: string | Uint8Array) => Promise<void>
    readonly progress: (message: string) => void
    /** Aborted when the caller went away. */
    readonly signal: AbortSignal
  }) => Promise<void>
}

/** Stored bytes of a known length, of which a caller may ask for a part (206, 416): see `partOf`. */
export interface SentBytes {
  readonly mediaType: string
  readonly size: number
  /** A name for exactly these bytes, sent as their `ETag`; default they have none. */
  readonly edition?: string
  /** What else their head says, in small letters. */
  readonly headers?: Readonly<Record<string, string>>
  /** The bytes from `from` on, up to and without `to`. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>
}

/** What a browser is answered in place of JSON. */
export interface ForPeople {
  /** Where the answer leads (303): a path of this server, sent as `Location` and without a body. */
  readonly location?: string
  /** What their browser keeps, as `Set-Cookie` says it. */
  readonly cookie?: string
  /** A page: see `htmlPage` in `page.ts`. */
  readonly page?: string
}

/** What is sent piece by piece. */
export type Sent = SentFile | SentBytes
