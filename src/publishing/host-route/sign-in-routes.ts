/** What stands at `/.preview/` of every preview: signing in and out. The same for every name, whosever it is. */
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

/** A request for a page of the house. */
export interface SignInPageRequest {
  readonly signIn: CompanySignIn
  /** Null: at a name that is no company's. */
  readonly companyId: CompanyId | null
  readonly isSignedIn: boolean
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** As limits count it. */
  readonly address: string
}

/** Answers it. @throws BodyCutOff, BodyTooLate */
export async function serveSignIn(own: SignInPageRequest): Promise<void> {
  const { request, response, isSignedIn } = own
  const { method = "GET", url = "/", headers } = request
  const { pathname, searchParams } = new URL(url.replace(/^\/+/, "/"), "http://own.invalid")
  const next = sameHostPath(searchParams.get("next"))
  // Dots may lead out of it.
  const path = pathname.startsWith(SIGN_IN_PATH) ? pathname.slice(SIGN_IN_PATH.length) : pathname
  const action = FORM_ACTIONS[path]
  if (action === undefined && !(pathname === SIGN_IN_PATH || path === "/")) {
    return sendSignInPage(response, faultPage(404, "There is no such page."))
  }
  if (method === "GET" || method === "HEAD") {
    if (path === "/code") return sendSignInPage(response, codePage(200, next))
    return sendSignInPage(response, isSignedIn ? signedInPage() : emailPage(200, next))
  }
  if (method !== "POST" || action === undefined) {
    const allow = action === undefined ? "GET, HEAD" : "GET, HEAD, POST"
    return sendSignInPage(response, {
      ...faultPage(405, "That cannot be done here."),
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
  if (form === null) return sendSignInPage(response, faultPage(400, "This is no form."))
  await action(own, form)
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

/** What forms are sent to. */
const FORM_ACTIONS: Readonly<
  Record<string, ((own: SignInPageRequest, form: Form) => Promise<void>) | undefined>
> = {
  "/code": async ({ signIn, companyId, response, address }, form) => {
    const next = sameHostPath(form.get("next") ?? null)
    const email = (form.get("email") ?? "").trim()
    if (email.length > MAX_EMAIL || !/^[^\s@]+@[^\s@]+$/.test(email)) {
      return sendSignInPage(response, emailPage(400, next, "Enter an email address."))
    }
    const asked = signIn.requestCode(companyId, email, address)
    if ("refusal" in asked) {
      const { message, headers } = asked.refusal
      const page: SignInPage = emailPage(429, next, message)
      return sendSignInPage(response, { ...page, ...(headers === undefined ? {} : { headers }) })
    }
    const to = `${SIGN_IN_PATH}/code?next=${encodeURIComponent(next)}`
    redirect(response, to, tokenCookie(PREVIEW_COOKIE, asked.browserToken, CODE_LIFETIME_MS))
  },
  "/enter": async ({ signIn, companyId, request, response }, form) => {
    const next = sameHostPath(form.get("next") ?? null)
    const browser = tokenFromCookie(request.headers.cookie, PREVIEW_COOKIE)
    const code = (form.get("code") ?? "").replaceAll(/\s/g, "")
    const session = browser === null ? null : await signIn.signInWithCode(companyId, browser, code)
    if (session !== null)
      return redirect(response, next, tokenCookie(PREVIEW_COOKIE, session, SESSION_LIFETIME_MS))
    const fault = "This code is not right, is over, was tried too often, or is of another browser."
    sendSignInPage(response, codePage(403, next, fault))
  },
  "/sign-out": async ({ signIn, companyId, request, response }) => {
    const token = tokenFromCookie(request.headers.cookie, PREVIEW_COOKIE)
    if (companyId !== null && token !== null) await signIn.signOut(companyId, token)
    redirect(response, `${SIGN_IN_PATH}/`, tokenCookie(PREVIEW_COOKIE, "", 0))
  },
}

/** Leads on by a path of this host. */
function redirect(response: ServerResponse, location: string, cookie: string): void {
  const rest = { "cache-control": "no-store", "x-robots-tag": "noindex", "content-length": 0 }
  response.writeHead(303, { location, "set-cookie": cookie, ...rest }).end()
}
