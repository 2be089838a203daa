/** Small HTML pages: plain documents without script, that load nothing. */

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
export function escaped(text: string): string {
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
    `<title>${escaped(title)}</title><style>${STYLE}</style>`
  const main = `<main><h1>${escaped(title)}</h1>\n${body}\n</main>`
  return `<!doctype html>\n<html lang="en"><head>${head}</head>\n<body>${main}</body></html>\n`
}
