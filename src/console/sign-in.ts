/** Signing in to the console and out of it. */
import { z } from "zod"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { OwnCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { AsSent } from "../frame/routes/declare/route.ts"
import { openRoute } from "../frame/routes/declare/route.ts"
import { htmlPage } from "../frame/routes/answers/sent.ts"
import { CODE_LASTS_MS, isFromOwnPage, tokenCookie, tokenIn } from "../frame/sign-in/codes.ts"
import { MOST_MS } from "../frame/sign-in/accounts.ts"
import type { Who, WayIn } from "../frame/routes/call.ts"
import { fieldOf } from "../frame/routes/call.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** Nobody is signed in. */
export const SIGNED_OUT: OwnCode = {
  error: "signed_out",
  status: 401,
  example: { message: "Nobody is signed in here, or not any more: sign in." },
}

/** A change that no page of the console asked for. */
export const OTHER_SITE: OwnCode = {
  error: "other_site",
  status: 403,
  example: { message: "This was not asked for by a page of this console." },
}

const READS = ["GET", "HEAD"]

/** Who asks, at the company of the path; the refusal of whoever is nobody there. */
export async function whoAsks(
  ports: Pick<Ports, "accounts" | "baseUrl">,
  sent: Pick<AsSent, "headers"> & {
    readonly method: string
    readonly params: Readonly<Record<string, string>>
  },
): Promise<Who | Refusal> {
  const strange = otherSite(ports, sent)
  if (strange !== null) return strange
  const companyId = parseCompanyId(sent.params["company"] ?? "")
  const token = keptIn(sent, "session")
  const found =
    companyId === null || token === null ? null : await ports.accounts.whoAt(companyId, token)
  if (found === null) return signedOut()
  return { companyId: found.companyId, personId: found.personId }
}

/** Nobody is signed in here. */
function signedOut(): Refusal {
  return refusal(SIGNED_OUT, SIGNED_OUT.example.message)
}

/**
 * The refusal of a change that another site may have asked for; null where none has. What browsers send for
 * another site says where it comes from, and cannot have a header of the console's own.
 */
function otherSite(
  ports: Pick<Ports, "baseUrl">,
  { method, headers }: Pick<AsSent, "headers"> & { readonly method: string },
): Refusal | null {
  if (READS.includes(method)) return null
  const sent = { headers } as AsSent
  const origin = fieldOf(sent, "origin")
  const isOwn = origin !== null && isOwnOrigin(ports.baseUrl(), origin, fieldOf(sent, "host"))
  if (isOwn && fieldOf(sent, "x-console") === "1") return null
  return refusal(OTHER_SITE, OTHER_SITE.example.message)
}

/** Whether an origin is that of the host which was asked; of the public address it is the scheme's too. */
function isOwnOrigin(baseUrl: string, origin: string, host: string | null): boolean {
  if (!isFromOwnPage(origin, host ?? undefined)) return false
  const asked = new URL(origin)
  const own = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  return own === null || own.hostname !== asked.hostname || own.protocol === asked.protocol
}

// The cookies of the console: who is signed in, and which browser asked for a code. Over TLS they are of this
// very host and of no other of its domain (`__Host-`); on this machine alone browsers have no TLS.

/** What a browser keeps: the session, or that it asked for a code. */
type Kept = "session" | "sign-in"

/** What the browser of a call keeps; null for nothing. */
function keptIn(sent: Pick<AsSent, "headers">, kept: Kept): string | null {
  return tokenIn(sent.headers["cookie"]?.join("; "), nameOf(sent, kept))
}

/** Has a browser keep something for a time; 0 ends it. */
function keeping(
  sent: Pick<AsSent, "headers">,
  kept: Kept,
  token: string,
  lastsMs: number,
): string {
  return tokenCookie(nameOf(sent, kept), token, lastsMs, isThisMachine(sent))
}

const nameOf = (sent: Pick<AsSent, "headers">, kept: Kept): string =>
  isThisMachine(sent) ? kept : `__Host-${kept}`

/** Whether a browser asks its own machine, by its host name. */
function isThisMachine(sent: Pick<AsSent, "headers">): boolean {
  const host = (fieldOf(sent, "host") ?? "").replace(/:\d+$/, "").toLowerCase()
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]"
}

/** What stands before the paths of a company. */
export const AT_COMPANY = "/console/:company"

/** The way. */
export const bySession: WayIn = { at: AT_COMPANY, who: whoAsks }

const SESSION_URL = "/console/api/session"
/** Where a browser goes that is signed in. */
const HOME = "/console"
const MOST_EMAIL = 320
const MOST_NAME = 200

const email = z
  .string()
  .trim()
  .max(MOST_EMAIL)
  .regex(/^[^\s@]+@[^\s@]+$/, "must be an email address")
const base = { group: "console" } as const

/** Mails a code. */
export const askCode = openRoute({
  ...base,
  name: "askCode",
  method: "POST",
  url: "/console/api/code",
  summary: "Have a sign-in code mailed",
  body: z.object({ email }),
  success: [202],
  reply: z.object({ minutes: z.int() }),
  refuses: [OTHER_SITE, "rate_limited"],
  handle: async (ports, { body, sent }) => {
    const strange = otherSite(ports, { ...sent, method: "POST" })
    if (strange !== null) return { ok: false, refusal: strange }
    const asked = ports.accounts.ask(body.email, sent.address)
    if ("refusal" in asked) return { ok: false, refusal: asked.refusal }
    const cookie = keeping(sent, "sign-in", asked.browser, CODE_LASTS_MS)
    return { ok: true, body: { minutes: CODE_LASTS_MS / 60_000 }, cookie }
  },
})

const WRONG_CODE = "This code is not right, is over, was tried too often, or is of another browser."

/** Signs in by a code. */
export const signIn = openRoute({
  ...base,
  name: "signIn",
  method: "POST",
  url: SESSION_URL,
  summary: "Sign in by the code",
  limit: { ...RATE_LIMITS.codesFrom, name: "codes entered from" },
  body: z.object({
    code: z.string().transform((text) => text.replaceAll(/\s/g, "")),
    name: z.string().trim().min(1).max(MOST_NAME).optional(),
  }),
  success: [201],
  reply: z.object({ signedIn: z.literal(true) }),
  refuses: [OTHER_SITE, "not_allowed", "rate_limited"],
  handle: async (ports, { body, sent }) => {
    const strange = otherSite(ports, { ...sent, method: "POST" })
    if (strange !== null) return { ok: false, refusal: strange }
    const browser = keptIn(sent, "sign-in")
    const token =
      browser === null ? null : await ports.accounts.enter(browser, body.code, body.name ?? null)
    if (token === null) return { ok: false, refusal: refusal("not_allowed", WRONG_CODE) }
    await leave(ports, sent)
    return { ok: true, body: { signedIn: true }, cookie: keeping(sent, "session", token, MOST_MS) }
  },
})

/** Signs in by a link that an operator made, once. */
export const followLink = openRoute({
  ...base,
  name: "followLink",
  method: "GET",
  url: "/console/link/:token",
  summary: "Sign in by a link",
  limit: { ...RATE_LIMITS.codesFrom, name: "links from" },
  params: z.object({ token: z.string() }),
  success: [303, 200],
  reply: z.object({}),
  handle: async (ports, { params, sent }) => {
    const token = await ports.accounts.follow(params.token)
    if (token === null) {
      const says =
        "<p>It works once, for ten minutes. Ask for another one, or sign in by a code.</p>"
      const page = htmlPage("This link is over", `${says}\n<p><a href="${HOME}">Sign in</a></p>`)
      return { ok: true, status: 200, body: {}, page }
    }
    await leave(ports, sent)
    const cookie = keeping(sent, "session", token, MOST_MS)
    return { ok: true, status: 303, body: {}, location: HOME, cookie }
  },
})

/** Ends the session that a browser had before: nobody goes on with it. */
async function leave(
  ports: Parameters<Parameters<typeof openRoute>[0]["handle"]>[0],
  sent: Parameters<typeof keptIn>[0],
): Promise<void> {
  const former = keptIn(sent, "session")
  if (former !== null) await ports.accounts.leave(former)
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
export const readSession = openRoute({
  ...base,
  name: "readSession",
  method: "GET",
  url: SESSION_URL,
  summary: "Who is signed in, and at which companies",
  reply: z.object({ now: z.iso.datetime(), companies: z.array(Profile) }),
  refuses: [SIGNED_OUT],
  handle: async (ports, { sent }) => {
    const token = keptIn(sent, "session")
    const found = token === null ? [] : await ports.accounts.profilesOf(token)
    if (found.length === 0) return { ok: false, refusal: signedOut() }
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
export const signOut = openRoute({
  ...base,
  name: "signOut",
  method: "DELETE",
  url: SESSION_URL,
  summary: "Sign out",
  reply: z.object({ signedIn: z.literal(false) }),
  refuses: [OTHER_SITE],
  handle: async (ports, { sent }) => {
    const strange = otherSite(ports, { ...sent, method: "DELETE" })
    if (strange !== null) return { ok: false, refusal: strange }
    await leave(ports, sent)
    return { ok: true, body: { signedIn: false }, cookie: keeping(sent, "session", "", 0) }
  },
})
