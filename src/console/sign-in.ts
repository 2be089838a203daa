/** Signing in to the console and out of it. */
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

/** Nobody is signed in. */
export const SIGNED_OUT: SliceErrorCode = {
  error: "signed_out",
  status: 401,
  example: { message: "Nobody is signed in here, or not any more: sign in." },
}

/** A change that no page of the console asked for. */
export const OTHER_SITE: SliceErrorCode = {
  error: "other_site",
  status: 403,
  example: { message: "This was not asked for by a page of this console." },
}

const SAFE_METHODS = ["GET", "HEAD"]

/** Who asks, at the company of the path; the refusal of whoever is nobody there. */
export async function authenticateSession(
  ports: Pick<Ports, "consoleSignIn" | "baseUrl">,
  sent: Pick<RawRequest, "headers"> & {
    readonly method: string
    readonly params: Readonly<Record<string, string>>
  },
): Promise<PersonIdentity | Refusal> {
  const strange = crossSiteRefusal(ports, sent)
  if (strange !== null) return strange
  const companyId = parseCompanyId(sent.params["company"] ?? "")
  const token = readCookie(sent, "session")
  const found =
    companyId === null || token === null
      ? null
      : await ports.consoleSignIn.findMembership(companyId, token)
  if (found === null) return signedOutRefusal()
  return { companyId: found.companyId, personId: found.personId }
}

/** Nobody is signed in here. */
function signedOutRefusal(): Refusal {
  return refusal(SIGNED_OUT, SIGNED_OUT.example.message)
}

/**
 * The refusal of a change that another site may have asked for; null where none has. What browsers send for
 * another site says where it comes from, and cannot have a header of the console's own.
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

/** Whether an origin is that of the host which was asked; of the public address it is the scheme's too. */
function isOwnOrigin(baseUrl: string, origin: string, host: string | null): boolean {
  if (!isSameOrigin(origin, host ?? undefined)) return false
  const asked = new URL(origin)
  const own = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  return own === null || own.hostname !== asked.hostname || own.protocol === asked.protocol
}

// The cookies of the console: who is signed in, and which browser asked for a code. Over TLS they are of this
// very host and of no other of its domain (`__Host-`); on this machine alone browsers have no TLS.

/** What a browser keeps: the session, or that it asked for a code. */
type CookieKind = "session" | "sign-in"

/** What the browser of a call keeps; null for nothing. */
function readCookie(sent: Pick<RawRequest, "headers">, kept: CookieKind): string | null {
  return tokenFromCookie(sent.headers["cookie"]?.join("; "), cookieName(sent, kept))
}

/** Has a browser keep something for a time; 0 ends it. */
function setCookieHeader(
  sent: Pick<RawRequest, "headers">,
  kept: CookieKind,
  token: string,
  lastsMs: number,
): string {
  return tokenCookie(cookieName(sent, kept), token, lastsMs, isLocalHost(sent))
}

const cookieName = (sent: Pick<RawRequest, "headers">, kept: CookieKind): string =>
  isLocalHost(sent) ? kept : `__Host-${kept}`

/** Whether a browser asks its own machine, by its host name. */
function isLocalHost(sent: Pick<RawRequest, "headers">): boolean {
  const host = (headerValue(sent, "host") ?? "").replace(/:\d+$/, "").toLowerCase()
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]"
}

/** What stands before the paths of a company. */
export const COMPANY_PATH = "/console/:company"

/** The way. */
export const sessionEntryPoint: EntryPoint = {
  pathPrefix: COMPANY_PATH,
  identify: authenticateSession,
}

const SESSION_URL = "/console/api/session"
/** Where a browser goes that is signed in. */
const HOME = "/console"
const MAX_EMAIL = 320
const MAX_NAME = 200

const email = z
  .string()
  .trim()
  .max(MAX_EMAIL)
  .regex(/^[^\s@]+@[^\s@]+$/, "must be an email address")
const base = { group: "console" } as const

/** Mails a code. */
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
    const strange = crossSiteRefusal(ports, { ...rawRequest, method: "POST" })
    if (strange !== null) return { ok: false, refusal: strange }
    const asked = ports.consoleSignIn.requestCode(body.email, rawRequest.address)
    if ("refusal" in asked) return { ok: false, refusal: asked.refusal }
    const cookie = setCookieHeader(rawRequest, "sign-in", asked.browserToken, CODE_LIFETIME_MS)
    return { ok: true, body: { minutes: CODE_LIFETIME_MS / 60_000 }, cookie }
  },
})

const WRONG_CODE = "This code is not right, is over, was tried too often, or is of another browser."

/** Signs in by a code. */
export const signIn = publicRoute({
  ...base,
  name: "signIn",
  method: "POST",
  url: SESSION_URL,
  summary: "Sign in by the code",
  rateLimit: { ...RATE_LIMITS.codesFrom, name: "codes entered from" },
  body: z.object({
    code: z.string().transform((text) => text.replaceAll(/\s/g, "")),
    name: z.string().trim().min(1).max(MAX_NAME).optional(),
  }),
  statuses: [201],
  reply: z.object({ signedIn: z.literal(true) }),
  refusalCodes: [OTHER_SITE, "not_allowed", "rate_limited"],
  handle: async (ports, { body, rawRequest }) => {
    const strange = crossSiteRefusal(ports, { ...rawRequest, method: "POST" })
    if (strange !== null) return { ok: false, refusal: strange }
    const browser = readCookie(rawRequest, "sign-in")
    const token =
      browser === null
        ? null
        : await ports.consoleSignIn.signInWithCode(browser, body.code, body.name ?? null)
    if (token === null) return { ok: false, refusal: refusal("not_allowed", WRONG_CODE) }
    await endFormerSession(ports, rawRequest)
    return {
      ok: true,
      body: { signedIn: true },
      cookie: setCookieHeader(rawRequest, "session", token, SESSION_MAX_MS),
    }
  },
})

/** Signs in by a link that an operator made, once. */
export const followLink = publicRoute({
  ...base,
  name: "followLink",
  method: "GET",
  url: "/console/link/:token",
  summary: "Sign in by a link",
  rateLimit: { ...RATE_LIMITS.codesFrom, name: "links from" },
  params: z.object({ token: z.string() }),
  statuses: [303, 200],
  reply: z.object({}),
  handle: async (ports, { params, rawRequest }) => {
    const token = await ports.consoleSignIn.signInWithLink(params.token)
    if (token === null) {
      const says =
        "<p>It works once, for ten minutes. Ask for another one, or sign in by a code.</p>"
      const page = htmlPage("This link is over", `${says}\n<p><a href="${HOME}">Sign in</a></p>`)
      return { ok: true, status: 200, body: {}, page }
    }
    await endFormerSession(ports, rawRequest)
    const cookie = setCookieHeader(rawRequest, "session", token, SESSION_MAX_MS)
    return { ok: true, status: 303, body: {}, location: HOME, cookie }
  },
})

/** Ends the session that a browser had before: nobody goes on with it. */
async function endFormerSession(
  ports: Parameters<Parameters<typeof publicRoute>[0]["handle"]>[0],
  sent: Parameters<typeof readCookie>[0],
): Promise<void> {
  const former = readCookie(sent, "session")
  if (former !== null) await ports.consoleSignIn.signOut(former)
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

/** Who is signed in. */
export const readSession = publicRoute({
  ...base,
  name: "readSession",
  method: "GET",
  url: SESSION_URL,
  summary: "Who is signed in, and at which companies",
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

/** Signs out. */
export const signOut = publicRoute({
  ...base,
  name: "signOut",
  method: "DELETE",
  url: SESSION_URL,
  summary: "Sign out",
  reply: z.object({ signedIn: z.literal(false) }),
  refusalCodes: [OTHER_SITE],
  handle: async (ports, { rawRequest }) => {
    const strange = crossSiteRefusal(ports, { ...rawRequest, method: "DELETE" })
    if (strange !== null) return { ok: false, refusal: strange }
    await endFormerSession(ports, rawRequest)
    return {
      ok: true,
      body: { signedIn: false },
      cookie: setCookieHeader(rawRequest, "session", "", 0),
    }
  },
})
