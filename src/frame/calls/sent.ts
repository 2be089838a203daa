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

/** Stored bytes of a known length, of which a caller may ask for a part (206, 416). */
export interface SentBytes {
  readonly mediaType: string
  readonly size: number
  /** The bytes from `from` on, up to and without `to`. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>
}

/** What a browser is answered in place of JSON. */
export interface ForPeople {
  /** Where the answer leads (303): a path of this server, sent as `Location` and without a body. */
  readonly location?: string
  /** A page: see `htmlPage` in `page.ts`. */
  readonly page?: string
}

/** What is sent piece by piece. */
export type Sent = SentFile | SentBytes

/** Part of `SentBytes`, as it is answered. */
export interface Part {
  readonly status: 200 | 206 | 416
  readonly headers: Readonly<Record<string, string>>
  readonly from: number
  readonly to: number
}

/**
 * What of stored bytes is answered to a `Range` header (RFC 9110 §14): the whole where there is none, or
 * one that is not understood or asks for several parts; 416 where nothing of it is there.
 */
export function partOf(range: string | null, size: number): Part {
  const accept = { "accept-ranges": "bytes" }
  const match = range === null ? null : /^bytes=(\d*)-(\d*)$/.exec(range.trim())
  const [, first = "", last = ""] = match ?? []
  if (match === null || (first === "" && last === "")) {
    return { status: 200, headers: accept, from: 0, to: size }
  }
  // Without a first byte it is the last so many.
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === "" || last === "" ? size : Math.min(size, Number(last) + 1)
  if (first !== "" && last !== "" && Number(last) < Number(first)) {
    return { status: 200, headers: accept, from: 0, to: size }
  }
  if (from >= size || from >= to) {
    const headers = { ...accept, "content-range": `bytes */${size}` }
    return { status: 416, headers, from: 0, to: 0 }
  }
  const headers = { ...accept, "content-range": `bytes ${from}-${to - 1}/${size}` }
  return { status: 206, headers, from, to }
}
