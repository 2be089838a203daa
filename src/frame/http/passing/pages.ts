/** What visitors are shown where nothing can be passed on, or nothing is there. */
import type { ServerResponse } from "node:http"
import { STATUS_CODES } from "node:http"
import { escaped } from "../../routes/answers/page.ts"

/** A page that says why nothing is shown. */
export interface Notice {
  readonly status: number
  readonly title: string
  /** A sentence or two. */
  readonly text: string
  /** Whether it is worth while to look again: the page does so by itself. */
  readonly looksAgain?: boolean
}

/** The same to whoever asked to speak another protocol. */
export function refusalOf(status: number): string {
  const rest = "Connection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n"
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${rest}`
}

/** Answers with a page. */
export function noticePage(
  response: ServerResponse,
  { status, title, text, looksAgain = false }: Notice,
): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
    ...(looksAgain ? { refresh: "2" } : {}),
  })
  const [shown, told] = [escaped(title), escaped(text)]
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${shown}</title><h1>${shown}</h1><p>${told}</p></html>\n`,
  )
}
