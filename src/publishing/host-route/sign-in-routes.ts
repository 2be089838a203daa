/** The sign-in routes at `/.preview/` of every preview, the same whether or not the company exists. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { BodyTooLarge } from "../../frame/routes/api-call.ts"
import { parseForm } from "../../frame/routes/declare/public-form.ts"
import { headerFieldsOf, incomingBodyOf } from "../../frame/http/requests.ts"
import {
  CODE_LIFETIME_MS,
  isSameOrigin,
  sameHostPath,
  tokenCookie,
  tokenFromCookie,
} from "../../frame/sign-in/codes.ts"
import type { CompanySignIn } from "../../frame/sign-in/company-sign-in.ts"
import { SESSION_LIFETIME_MS } from "../../frame/sign-in/company-sign-in.ts"
import type { SignInPage } from "./sign-in-pages.ts"
import {
  PREVIEW_COOKIE,
  SIGN_IN_PATH,
  codePage,
  emailPage,
  faultPage,
  sendSignInPage,
  signedInPage,
} from "./sign-in-pages.ts"

const MAX_FORM_BYTES = 8_192
const FORM_TIMEOUT_MS = 10_000
const MAX_EMAIL = 320

export interface SignInPageRequest {
  readonly signIn: CompanySignIn
  /** Null if no company has the name. */
  readonly companyId: CompanyId | null
  readonly isSignedIn: boolean
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The address that rate limits count. */
  readonly address: string
}

/** Serves the sign-in pages. @throws BodyCutOff, BodyTooLate */
export async function serveSignIn(page: SignInPageRequest): Promise<void> {
  const { request, response, isSignedIn } = page
  const { method = "GET", url = "/", headers } = request
  const { pathname, searchParams } = new URL(url.replace(/^\/+/, "/"), "http://page.invalid")
  const next = sameHostPath(searchParams.get("next"))
  // Dot segments may lead out of the folder.
  const path = pathname.startsWith(SIGN_IN_PATH) ? pathname.slice(SIGN_IN_PATH.length) : pathname
  const action = FORM_ACTIONS[path]
  if (action === undefined && !(pathname === SIGN_IN_PATH || path === "/")) {
    return sendSignInPage(response, faultPage(404, "This page does not exist."))
  }
  if (method === "GET" || method === "HEAD") {
    if (path === "/code") return sendSignInPage(response, codePage(200, next))
    return sendSignInPage(response, isSignedIn ? signedInPage() : emailPage(200, next))
  }
  if (method !== "POST" || action === undefined) {
    const allow = action === undefined ? "GET, HEAD" : "GET, HEAD, POST"
    return sendSignInPage(response, {
      ...faultPage(405, "This page does not support the request's method."),
      headers: { allow },
    })
  }
  if (!isSameOrigin(headers.origin, headers.host)) {
    return sendSignInPage(
      response,
      faultPage(403, "This form was not sent from a page of this preview."),
    )
  }
  const form = await readForm(request)
  if (form === null)
    return sendSignInPage(
      response,
      faultPage(400, "The form could not be read. Go back and send it again."),
    )
  await action(page, form)
}

type Form = ReadonlyMap<string, string>

async function readForm(request: IncomingMessage): Promise<Form | null> {
  try {
    const bytes = await incomingBodyOf(request).bytes(MAX_FORM_BYTES, FORM_TIMEOUT_MS)
    const form = parseForm({ headers: headerFieldsOf(request) }, bytes ?? new Uint8Array())
    return "values" in form ? form.values : null
  } catch (error) {
    if (error instanceof BodyTooLarge) return null
    throw error
  }
}

const FORM_ACTIONS: Readonly<
  Record<string, ((page: SignInPageRequest, form: Form) => Promise<void>) | undefined>
> = {
  "/code": async ({ signIn, companyId, response, address }, form) => {
    const next = sameHostPath(form.get("next") ?? null)
    const email = (form.get("email") ?? "").trim()
    if (email.length > MAX_EMAIL || !/^[^\s@]+@[^\s@]+$/.test(email)) {
      return sendSignInPage(response, emailPage(400, next, "Enter an email address."))
    }
    const requested = signIn.requestCode(companyId, email, address)
    if ("refusal" in requested) {
      const { message, headers } = requested.refusal
      const page: SignInPage = emailPage(429, next, message)
      return sendSignInPage(response, { ...page, ...(headers === undefined ? {} : { headers }) })
    }
    const to = `${SIGN_IN_PATH}/code?next=${encodeURIComponent(next)}`
    redirect(response, to, tokenCookie(PREVIEW_COOKIE, requested.browserToken, CODE_LIFETIME_MS))
  },
  "/enter": async ({ signIn, companyId, request, response }, form) => {
    const next = sameHostPath(form.get("next") ?? null)
    const browser = tokenFromCookie(request.headers.cookie, PREVIEW_COOKIE)
    const code = (form.get("code") ?? "").replaceAll(/\s/g, "")
    const session = browser === null ? null : await signIn.signInWithCode(companyId, browser, code)
    if (session !== null)
      return redirect(response, next, tokenCookie(PREVIEW_COOKIE, session, SESSION_LIFETIME_MS))
    const fault =
      "This code is wrong, expired, was tried too often, or belongs to another browser. Get another code."
    sendSignInPage(response, codePage(403, next, fault))
  },
  "/sign-out": async ({ signIn, companyId, request, response }) => {
    const token = tokenFromCookie(request.headers.cookie, PREVIEW_COOKIE)
    if (companyId !== null && token !== null) await signIn.signOut(companyId, token)
    redirect(response, `${SIGN_IN_PATH}/`, tokenCookie(PREVIEW_COOKIE, "", 0))
  },
}

/** Redirects to a path of this host. */
function redirect(response: ServerResponse, location: string, cookie: string): void {
  const rest = { "cache-control": "no-store", "x-robots-tag": "noindex", "content-length": 0 }
  response.writeHead(303, { location, "set-cookie": cookie, ...rest }).end()
}
