/** Sign-in to the console and sign-out. */
import { z } from "zod"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { SliceErrorCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { RawRequest } from "../frame/routes/declare/route.ts"
import { publicRoute } from "../frame/routes/declare/route.ts"
import { htmlPage } from "../frame/routes/answers/answer-bodies.ts"
import {
  CODE_LIFETIME_MS,
  isSameOrigin,
  tokenCookie,
  tokenFromCookie,
} from "../frame/sign-in/codes.ts"
import { SESSION_MAX_MS } from "../frame/sign-in/console-sign-in.ts"
import type { PersonIdentity, EntryPoint } from "../frame/routes/api-call.ts"
import { headerValue } from "../frame/routes/api-call.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** The browser has no valid session. */
export const SIGNED_OUT: SliceErrorCode = {
  error: "signed_out",
  status: 401,
  example: { message: "You are not signed in. Sign in again." },
}

/** A change that another site may have requested. */
export const OTHER_SITE: SliceErrorCode = {
  error: "other_site",
  status: 403,
  example: { message: "The request did not come from a page of this console." },
}

const SAFE_METHODS = ["GET", "HEAD"]

/** Authenticates the session at the company in the path, or returns the refusal. */
export async function authenticateSession(
  ports: Pick<Ports, "consoleSignIn" | "baseUrl">,
  sent: Pick<RawRequest, "headers"> & {
    readonly method: string
    readonly params: Readonly<Record<string, string>>
  },
): Promise<PersonIdentity | Refusal> {
  const crossSite = crossSiteRefusal(ports, sent)
  if (crossSite !== null) return crossSite
  const companyId = parseCompanyId(sent.params["company"] ?? "")
  const token = readCookie(sent, "session")
  const found =
    companyId === null || token === null
      ? null
      : await ports.consoleSignIn.findMembership(companyId, token)
  if (found === null) return signedOutRefusal()
  return { companyId: found.companyId, personId: found.personId }
}

function signedOutRefusal(): Refusal {
  return refusal(SIGNED_OUT, SIGNED_OUT.example.message)
}

/**
 * Returns the refusal of a change that another site may have requested; null if none has. A browser sends the
 * other site's origin with such a request, and the other site cannot set the console's own header.
 */
function crossSiteRefusal(
  ports: Pick<Ports, "baseUrl">,
  { method, headers }: Pick<RawRequest, "headers"> & { readonly method: string },
): Refusal | null {
  if (SAFE_METHODS.includes(method)) return null
  const sent = { headers } as RawRequest
  const origin = headerValue(sent, "origin")
  const isOwn = origin !== null && isOwnOrigin(ports.baseUrl(), origin, headerValue(sent, "host"))
  if (isOwn && headerValue(sent, "x-console") === "1") return null
  return refusal(OTHER_SITE, OTHER_SITE.example.message)
}

/** Whether an origin is this server's. For the public address the scheme must match too. */
function isOwnOrigin(baseUrl: string, origin: string, host: string | null): boolean {
  if (!isSameOrigin(origin, host ?? undefined)) return false
  const asked = new URL(origin)
  const own = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  return own === null || own.hostname !== asked.hostname || own.protocol === asked.protocol
}

// The console's cookies. With TLS they belong to this host only (`__Host-`); browsers on this machine use no TLS.

/** The session, or the token of a browser that requested a code. */
type CookieKind = "session" | "sign-in"

/** Returns a cookie's token; null if there is none. */
function readCookie(sent: Pick<RawRequest, "headers">, kind: CookieKind): string | null {
  return tokenFromCookie(sent.headers["cookie"]?.join("; "), cookieName(sent, kind))
}

/** Returns the header that sets a cookie; a lifetime of 0 deletes it. */
function setCookieHeader(
  sent: Pick<RawRequest, "headers">,
  kind: CookieKind,
  token: string,
  lifetimeMs: number,
): string {
  return tokenCookie(cookieName(sent, kind), token, lifetimeMs, isLocalHost(sent))
}

const cookieName = (sent: Pick<RawRequest, "headers">, kind: CookieKind): string =>
  isLocalHost(sent) ? kind : `__Host-${kind}`

/** Whether the request's host is the browser's own machine. */
function isLocalHost(sent: Pick<RawRequest, "headers">): boolean {
  const host = (headerValue(sent, "host") ?? "").replace(/:\d+$/, "").toLowerCase()
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]"
}

/** Prefix of a company's paths. */
export const COMPANY_PATH = "/console/:company"

export const sessionEntryPoint: EntryPoint = {
  pathPrefix: COMPANY_PATH,
  identify: authenticateSession,
}

const SESSION_URL = "/console/api/session"
/** The page that a browser opens after the sign-in. */
const HOME = "/console"
const MAX_EMAIL = 320
const MAX_NAME = 200

const email = z
  .string()
  .trim()
  .max(MAX_EMAIL)
  .regex(/^[^\s@]+@[^\s@]+$/, "Must be an email address.")
const base = { group: "console" } as const

export const requestSignInCode = publicRoute({
  ...base,
  name: "askCode",
  method: "POST",
  url: "/console/api/code",
  summary: "Have a sign-in code mailed",
  body: z.object({ email }),
  statuses: [202],
  reply: z.object({ minutes: z.int() }),
  refusalCodes: [OTHER_SITE, "rate_limited"],
  handle: async (ports, { body, rawRequest }) => {
    const crossSite = crossSiteRefusal(ports, { ...rawRequest, method: "POST" })
    if (crossSite !== null) return { ok: false, refusal: crossSite }
    const requested = ports.consoleSignIn.requestCode(body.email, rawRequest.address)
    if ("refusal" in requested) return { ok: false, refusal: requested.refusal }
    const cookie = setCookieHeader(rawRequest, "sign-in", requested.browserToken, CODE_LIFETIME_MS)
    return { ok: true, body: { minutes: CODE_LIFETIME_MS / 60_000 }, cookie }
  },
})

const WRONG_CODE =
  "This code is wrong, has expired, was tried too often, or was requested in another browser. Request a new code."

export const signIn = publicRoute({
  ...base,
  name: "signIn",
  method: "POST",
  url: SESSION_URL,
  summary: "Sign in with the code",
  rateLimit: { ...RATE_LIMITS.codesFrom, name: "codes entered from" },
  body: z.object({
    code: z.string().transform((text) => text.replaceAll(/\s/g, "")),
    name: z.string().trim().min(1).max(MAX_NAME).optional(),
  }),
  statuses: [201],
  reply: z.object({ signedIn: z.literal(true) }),
  refusalCodes: [OTHER_SITE, "not_allowed", "rate_limited"],
  handle: async (ports, { body, rawRequest }) => {
    const crossSite = crossSiteRefusal(ports, { ...rawRequest, method: "POST" })
    if (crossSite !== null) return { ok: false, refusal: crossSite }
    const browser = readCookie(rawRequest, "sign-in")
    const token =
      browser === null
        ? null
        : await ports.consoleSignIn.signInWithCode(browser, body.code, body.name ?? null)
    if (token === null) return { ok: false, refusal: refusal("not_allowed", WRONG_CODE) }
    await endPreviousSession(ports, rawRequest)
    return {
      ok: true,
      body: { signedIn: true },
      cookie: setCookieHeader(rawRequest, "session", token, SESSION_MAX_MS),
    }
  },
})

/** Signs in with a link that an operator created; each link works once. */
export const followLink = publicRoute({
  ...base,
  name: "followLink",
  method: "GET",
  url: "/console/link/:token",
  summary: "Sign in with a link",
  rateLimit: { ...RATE_LIMITS.codesFrom, name: "links from" },
  params: z.object({ token: z.string() }),
  statuses: [303, 200],
  reply: z.object({}),
  handle: async (ports, { params, rawRequest }) => {
    const token = await ports.consoleSignIn.signInWithLink(params.token)
    if (token === null) {
      const text =
        "<p>A link works once, within ten minutes. Request another one, or sign in with a code.</p>"
      const page = htmlPage(
        "This link has expired",
        `${text}\n<p><a href="${HOME}">Sign in</a></p>`,
      )
      return { ok: true, status: 200, body: {}, page }
    }
    await endPreviousSession(ports, rawRequest)
    const cookie = setCookieHeader(rawRequest, "session", token, SESSION_MAX_MS)
    return { ok: true, status: 303, body: {}, location: HOME, cookie }
  },
})

/** Ends the browser's previous session, so that its token stops working. */
async function endPreviousSession(
  ports: Parameters<Parameters<typeof publicRoute>[0]["handle"]>[0],
  sent: Parameters<typeof readCookie>[0],
): Promise<void> {
  const previous = readCookie(sent, "session")
  if (previous !== null) await ports.consoleSignIn.signOut(previous)
}

const Profile = z.object({
  companyId: z.string(),
  company: z.string().nullable(),
  personId: z.string(),
  name: z.string().nullable(),
  email: z.string().nullable(),
  role: z.string(),
  permissions: z.array(z.string()),
  operations: z.array(z.string()),
  deleteDataAfter: z.string().nullable(),
})

/** Returns the signed-in person's profile at each company. */
export const readSession = publicRoute({
  ...base,
  name: "readSession",
  method: "GET",
  url: SESSION_URL,
  summary: "Read who is signed in, and at which companies",
  reply: z.object({ now: z.iso.datetime(), companies: z.array(Profile) }),
  refusalCodes: [SIGNED_OUT],
  handle: async (ports, { rawRequest }) => {
    const token = readCookie(rawRequest, "session")
    const found = token === null ? [] : await ports.consoleSignIn.profilesOf(token)
    if (found.length === 0) return { ok: false, refusal: signedOutRefusal() }
    const companies = found.map(({ permissions, operations, ...one }) => ({
      ...one,
      permissions: [...permissions],
      operations: [...operations],
    }))
    const now = new Date(ports.clock.now()).toISOString()
    return { ok: true, body: { now, companies } }
  },
})

export const signOut = publicRoute({
  ...base,
  name: "signOut",
  method: "DELETE",
  url: SESSION_URL,
  summary: "Sign out",
  reply: z.object({ signedIn: z.literal(false) }),
  refusalCodes: [OTHER_SITE],
  handle: async (ports, { rawRequest }) => {
    const crossSite = crossSiteRefusal(ports, { ...rawRequest, method: "DELETE" })
    if (crossSite !== null) return { ok: false, refusal: crossSite }
    await endPreviousSession(ports, rawRequest)
    return {
      ok: true,
      body: { signedIn: false },
      cookie: setCookieHeader(rawRequest, "session", "", 0),
    }
  },
})
