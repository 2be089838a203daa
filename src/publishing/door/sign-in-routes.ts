/** What stands at `/.preview/` of every preview: signing in and out. The same for every name, whosever it is. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { BodyTooLarge } from "../../frame/routes/call.ts"
import { formIn } from "../../frame/routes/declare/form-sender.ts"
import { fieldsOf, sentBody } from "../../frame/http/incoming.ts"
import {
  CODE_LASTS_MS,
  isFromOwnPage,
  ownPath,
  tokenCookie,
  tokenIn,
} from "../../frame/sign-in/codes.ts"
import type { SignIn } from "../../frame/sign-in/sign-in.ts"
import { SESSION_LASTS_MS } from "../../frame/sign-in/sign-in.ts"
import type { OwnPage } from "./sign-in-pages.ts"
import {
  COOKIE,
  OWN_PATH,
  codePage,
  emailPage,
  faultPage,
  sendPage,
  signedInPage,
} from "./sign-in-pages.ts"

const MOST_FORM_BYTES = 8_192
const FORM_WITHIN_MS = 10_000
const MOST_EMAIL = 320

/** A request for a page of the house. */
export interface OwnRequest {
  readonly signIn: SignIn
  /** Null: at a name that is no company's. */
  readonly companyId: CompanyId | null
  readonly isSignedIn: boolean
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** As limits count it. */
  readonly address: string
}

/** Answers it. @throws BodyCutOff, BodyTooLate */
export async function serveOwn(own: OwnRequest): Promise<void> {
  const { request, response, isSignedIn } = own
  const { method = "GET", url = "/", headers } = request
  const { pathname, searchParams } = new URL(url.replace(/^\/+/, "/"), "http://own.invalid")
  const next = ownPath(searchParams.get("next"))
  // Dots may lead out of it.
  const path = pathname.startsWith(OWN_PATH) ? pathname.slice(OWN_PATH.length) : pathname
  const action = ACTIONS[path]
  if (action === undefined && !(pathname === OWN_PATH || path === "/")) {
    return sendPage(response, faultPage(404, "There is no such page."))
  }
  if (method === "GET" || method === "HEAD") {
    if (path === "/code") return sendPage(response, codePage(200, next))
    return sendPage(response, isSignedIn ? signedInPage() : emailPage(200, next))
  }
  if (method !== "POST" || action === undefined) {
    const allow = action === undefined ? "GET, HEAD" : "GET, HEAD, POST"
    return sendPage(response, {
      ...faultPage(405, "That cannot be done here."),
      headers: { allow },
    })
  }
  if (!isFromOwnPage(headers.origin, headers.host)) {
    return sendPage(response, faultPage(403, "This form was not sent from a page of this preview."))
  }
  const form = await readForm(request)
  if (form === null) return sendPage(response, faultPage(400, "This is no form."))
  await action(own, form)
}

type Form = ReadonlyMap<string, string>

async function readForm(request: IncomingMessage): Promise<Form | null> {
  try {
    const bytes = await sentBody(request).bytes(MOST_FORM_BYTES, FORM_WITHIN_MS)
    const form = formIn({ headers: fieldsOf(request) }, bytes ?? new Uint8Array())
    return "values" in form ? form.values : null
  } catch (error) {
    if (error instanceof BodyTooLarge) return null
    throw error
  }
}

/** What forms are sent to. */
const ACTIONS: Readonly<
  Record<string, ((own: OwnRequest, form: Form) => Promise<void>) | undefined>
> = {
  "/code": async ({ signIn, companyId, response, address }, form) => {
    const next = ownPath(form.get("next") ?? null)
    const email = (form.get("email") ?? "").trim()
    if (email.length > MOST_EMAIL || !/^[^\s@]+@[^\s@]+$/.test(email)) {
      return sendPage(response, emailPage(400, next, "Enter an email address."))
    }
    const asked = signIn.ask(companyId, email, address)
    if ("refusal" in asked) {
      const { message, headers } = asked.refusal
      const page: OwnPage = emailPage(429, next, message)
      return sendPage(response, { ...page, ...(headers === undefined ? {} : { headers }) })
    }
    const to = `${OWN_PATH}/code?next=${encodeURIComponent(next)}`
    goOn(response, to, tokenCookie(COOKIE, asked.browser, CODE_LASTS_MS))
  },
  "/enter": async ({ signIn, companyId, request, response }, form) => {
    const next = ownPath(form.get("next") ?? null)
    const browser = tokenIn(request.headers.cookie, COOKIE)
    const code = (form.get("code") ?? "").replaceAll(/\s/g, "")
    const session = browser === null ? null : await signIn.enter(companyId, browser, code)
    if (session !== null)
      return goOn(response, next, tokenCookie(COOKIE, session, SESSION_LASTS_MS))
    const fault = "This code is not right, is over, was tried too often, or is of another browser."
    sendPage(response, codePage(403, next, fault))
  },
  "/sign-out": async ({ signIn, companyId, request, response }) => {
    const token = tokenIn(request.headers.cookie, COOKIE)
    if (companyId !== null && token !== null) await signIn.leave(companyId, token)
    goOn(response, `${OWN_PATH}/`, tokenCookie(COOKIE, "", 0))
  },
}

/** Leads on by a path of this host. */
function goOn(response: ServerResponse, location: string, cookie: string): void {
  const rest = { "cache-control": "no-store", "x-robots-tag": "noindex", "content-length": 0 }
  response.writeHead(303, { location, "set-cookie": cookie, ...rest }).end()
}
