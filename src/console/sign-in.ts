/** Signing in to the console and out of it. */
import { z } from "zod"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { openRoute } from "../frame/routes/declare/route.ts"
import { htmlPage } from "../frame/routes/answers/page.ts"
import { CODE_LASTS_MS } from "../frame/sign-in/codes.ts"
import { MOST_MS } from "../frame/sign-in/accounts.ts"
import { keeping, keptIn } from "./cookies.ts"
import { OTHER_SITE, SIGNED_OUT, otherSite, signedOut } from "./session.ts"

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
