/** Answer bodies other than JSON: streamed files, ranges of stored bytes, and pages. */

/** A file that is produced while it is sent. */
export interface StreamedFile {
  readonly mediaType: string
  /** File name for a download; null if it is not saved. */
  readonly name: string | null
  /** Produces the file. An error cuts the connection off. */
  readonly write: (target: {
    /** Sends a piece; resolves when there is room for the next. */
    readonly send: (piece: string | Uint8Array) => Promise<void>
    readonly progress: (message: string) => void
    /** Aborted when the client disconnects. */
    readonly signal: AbortSignal
  }) => Promise<void>
}

/** Stored bytes of a known length, from which a client may request a range (206, 416). */
export interface RangedBytes {
  readonly mediaType: string
  readonly size: number
  /** Tag of exactly these bytes, sent as their `ETag`; default none. */
  readonly etag?: string
  /** Additional headers, with names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Reads the bytes from `from` up to `to`, exclusive. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>
}

/** Parts of an answer to a browser. */
export interface BrowserReply {
  /** Redirect target (303): a path of this server, sent as `Location` without a body. */
  readonly location?: string
  /** Value of a `Set-Cookie` header. */
  readonly cookie?: string
  /** A page, from `htmlPage`. */
  readonly page?: string
}

/** A body that is sent in pieces. */
export type StreamedBody = StreamedFile | RangedBytes

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; " +
    "frame-ancestors 'none'",
  "cache-control": "no-store",
  // With a stricter policy a browser would send the page's own form with `Origin: null`.
  "referrer-policy": "same-origin",
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

/** Escapes text for HTML, between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "")
    .replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) =>
      /[\t\n\r]/.test(character) ? character : "\ufffd",
    )
}

const STYLE =
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem}" +
  "label{display:block;margin:.75rem 0}input,textarea,button{font:inherit;width:100%;" +
  "box-sizing:border-box;padding:.5rem}.away{position:absolute;left:-100rem}"

/**
 * Returns a page that is also readable on a phone. Elements of the class `away` are outside the visible area.
 *
 * @param body HTML; use `escapeHtml` for text from users
 */
export function htmlPage(title: string, body: string): string {
  const head =
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style>`
  const main = `<main><h1>${escapeHtml(title)}</h1>\n${body}\n</main>`
  return `<!doctype html>\n<html lang="en"><head>${head}</head>\n<body>${main}</body></html>\n`
}
