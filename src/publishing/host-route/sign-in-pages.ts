/** The pages by which people sign in to a preview: plain forms, without script. */
import type { ServerResponse } from "node:http"
import { PAGE_HEADERS, escapeHtml, htmlPage } from "../../frame/routes/answers/answer-bodies.ts"

/** Where they are; what is below is never the company's. */
export const SIGN_IN_PATH = "/.preview"

/** The cookie of this very host, over TLS or on this machine, out of reach of what the company publishes. */
export const PREVIEW_COOKIE = "__Host-preview"

/** A page of the house. */
export interface SignInPage {
  readonly status: number
  readonly title: string
  /** HTML. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers with one. */
export function sendSignInPage(
  response: ServerResponse,
  { status, title, body, headers }: SignInPage,
): void {
  response.writeHead(status, { ...PAGE_HEADERS, "x-robots-tag": "noindex", ...headers })
  response.end(htmlPage(title, body))
}

/** What stands above a form, where there is something to say. */
const alertHtml = (fault: string | null): string =>
  fault === null ? "" : `<p role="alert"><strong>${escapeHtml(fault)}</strong></p>\n`

const nextField = (next: string): string =>
  `<input type="hidden" name="next" value="${escapeHtml(next)}">`

/** Asks for an email. @param next where it goes on to */
export function emailPage(status: number, next: string, fault: string | null = null): SignInPage {
  const body = `${alertHtml(fault)}<p>This preview is for the people of its company. A code is mailed to them.</p>
<form method="post" action="${SIGN_IN_PATH}/code">
${nextField(next)}
<label>Email <input name="email" type="email" autocomplete="email" required autofocus></label>
<button type="submit">Mail me a code</button>
</form>`
  return { status, title: "Sign in", body }
}

/** Asks for the code. */
export function codePage(status: number, next: string, fault: string | null = null): SignInPage {
  const again = `${SIGN_IN_PATH}/?next=${encodeURIComponent(next)}`
  const body = `${alertHtml(fault)}<p>If the email is of one of the company's people, a code is on its way. It works for 10 minutes, in this browser alone.</p>
<form method="post" action="${SIGN_IN_PATH}/enter">
${nextField(next)}
<label>Code <input name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required autofocus></label>
<button type="submit">Sign in</button>
</form>
<p><a href="${escapeHtml(again)}">Ask for another code</a></p>`
  return { status, title: "Enter the code", body }
}

/** Lets somebody sign out. */
export function signedInPage(): SignInPage {
  const body = `<p>You are signed in to this preview. <a href="/">Go to it</a></p>
<form method="post" action="${SIGN_IN_PATH}/sign-out"><button type="submit">Sign out</button></form>`
  return { status: 200, title: "Signed in", body }
}

/** Says that nothing came of a form. */
export function faultPage(status: number, fault: string): SignInPage {
  return {
    status,
    title: "That did not work",
    body: `${alertHtml(fault)}<p><a href="${SIGN_IN_PATH}/">Sign in</a></p>`,
  }
}
