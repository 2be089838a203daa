/** What is answered in place of JSON: bodies sent piece by piece (made meanwhile, or parts of something stored), pages. */

/** A file that is made while it is sent. */
export interface StreamedFile {
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
export interface RangedBytes {
  readonly mediaType: string
  readonly size: number
  /** A name for exactly these bytes, sent as their `ETag`; default they have none. */
  readonly etag?: string
  /** What else their head says, in small letters. */
  readonly headers?: Readonly<Record<string, string>>
  /** The bytes from `from` on, up to and without `to`. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>
}

/** What a browser is answered in place of JSON. */
export interface BrowserReply {
  /** Where the answer leads (303): a path of this server, sent as `Location` and without a body. */
  readonly location?: string
  /** What their browser keeps, as `Set-Cookie` says it. */
  readonly cookie?: string
  /** A page, as `htmlPage` makes it. */
  readonly page?: string
}

/** What is sent piece by piece. */
export type StreamedBody = StreamedFile | RangedBytes

/** What pages are sent with. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; " +
    "frame-ancestors 'none'",
  "cache-control": "no-store",
  // Without a word on it a browser would send the page's own form with `Origin: null`.
  "referrer-policy": "same-origin",
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

/** Text as it stands in HTML, between tags or in a quoted attribute: it is shown, and does nothing. */
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
 * A page, readable on a phone too. What is of the class `away` stands outside of what is seen.
 *
 * @param body HTML: `escaped` whatever in it is somebody's
 */
export function htmlPage(title: string, body: string): string {
  const head =
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style>`
  const main = `<main><h1>${escapeHtml(title)}</h1>\n${body}\n</main>`
  return `<!doctype html>\n<html lang="en"><head>${head}</head>\n<body>${main}</body></html>\n`
}
