/** The sign-in pages of previews: plain forms without scripts. */
import type { ServerResponse } from "node:http"
import { PAGE_HEADERS, escapeHtml, htmlPage } from "../../frame/routes/answers/answer-bodies.ts"

/** Path of the sign-in pages; requests below it never reach the company's app. */
export const SIGN_IN_PATH = "/.preview"

/** A cookie of exactly this host, only over TLS or on this machine, and hidden from the published app. */
export const PREVIEW_COOKIE = "__Host-preview"

export interface SignInPage {
  readonly status: number
  readonly title: string
  /** HTML. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a page. */
export function sendSignInPage(
  response: ServerResponse,
  { status, title, body, headers }: SignInPage,
): void {
  response.writeHead(status, { ...PAGE_HEADERS, "x-robots-tag": "noindex", ...headers })
  response.end(htmlPage(title, body))
}

/** The error above a form; empty for null. */
const alertHtml = (fault: string | null): string =>
  fault === null ? "" : `<p role="alert"><strong>${escapeHtml(fault)}</strong></p>\n`

const nextField = (next: string): string =>
  `<input type="hidden" name="next" value="${escapeHtml(next)}">`

/** The form for the email address. @param next path after the sign-in */
export function emailPage(status: number, next: string, fault: string | null = null): SignInPage {
  const body = `${alertHtml(fault)}<p>This preview is only for people of the company. Enter your email to get a sign-in code.</p>
<form method="post" action="${SIGN_IN_PATH}/code">
${nextField(next)}
<label>Email <input name="email" type="email" autocomplete="email" required autofocus></label>
<button type="submit">Email me a code</button>
</form>`
  return { status, title: "Sign in", body }
}

/** The form for the code. */
export function codePage(status: number, next: string, fault: string | null = null): SignInPage {
  const again = `${SIGN_IN_PATH}/?next=${encodeURIComponent(next)}`
  const body = `${alertHtml(fault)}<p>If this email belongs to a person of the company, we sent a code to it. The code works for 10 minutes, only in this browser.</p>
<form method="post" action="${SIGN_IN_PATH}/enter">
${nextField(next)}
<label>Code <input name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required autofocus></label>
<button type="submit">Sign in</button>
</form>
<p><a href="${escapeHtml(again)}">Get another code</a></p>`
  return { status, title: "Enter the code", body }
}

/** The page for signing out. */
export function signedInPage(): SignInPage {
  const body = `<p>You are signed in to this preview. <a href="/">Open the preview</a></p>
<form method="post" action="${SIGN_IN_PATH}/sign-out"><button type="submit">Sign out</button></form>`
  return { status: 200, title: "Signed in", body }
}

/** The page of an error without a form. */
export function faultPage(status: number, fault: string): SignInPage {
  return {
    status,
    title: "Sign-in failed",
    body: `${alertHtml(fault)}<p><a href="${SIGN_IN_PATH}/">Sign in</a></p>`,
  }
}
