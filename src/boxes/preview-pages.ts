/** What a link shows where nothing can be shown by it. */
import type { ServerResponse } from "node:http"
import { STATUS_CODES } from "node:http"

const PAGES = {
  404: ["There is nothing here", "This link is closed, or was never one."],
  502: ["Nothing answers yet", "The box does not listen on this port now. This page tries again."],
  503: ["Too many look at this now", "The box is busy with others. This page tries again."],
} as const

/** Why nothing is shown: the name is nobody's, nothing listens now, or too many look at it. */
export type None = keyof typeof PAGES

/** The same to whoever asked to speak another protocol. */
export function refusalOf(status: None): string {
  const rest = "Connection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n"
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${rest}`
}

/** Answers with a page that says so; of what may come yet, one that looks again. */
export function pageOf(response: ServerResponse, status: None): void {
  const [title, text] = PAGES[status]
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
    ...(status === 404 ? {} : { refresh: "2" }),
  })
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>\n`,
  )
}
