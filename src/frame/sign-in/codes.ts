/**
 * Codes by which people sign in without a password: mailed to them, valid for ten minutes, once, and only in
 * the browser that asked. An email that belongs to no person gets a code too, which is mailed to no address: so
 * asking, and trying, take the same steps for every email, and no answer, nor its time, says whose it is.
 */
import { randomInt, timingSafeEqual, hash, randomBytes } from "node:crypto"
import type { TtlRecord, TtlRecords } from "../../../adapters/postgres/ttl-store/port.ts"
import { withProviderTimeout } from "../../../adapters/providers/provider-errors.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import {
  NO_RATE_LIMITS,
  RATE_LIMITS,
  openRateLimits,
  rateSettings,
} from "../routes/checks/rate-limits.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { newId } from "../kernel/ids.ts"
import type { Ports } from "../ports.ts"
import type { SignInCodeRequest } from "../console-ports.ts"
import { cookieValue } from "../http/proxy/proxy.ts"

/** So long a code is of use. */
export const CODE_LIFETIME_MS = 10 * 60_000
/** So often a code may be tried. */
export const MAX_CODE_ATTEMPTS = 5

const DIGITS = 6

/** What it works with: most of what is there when the rest is made. */
export type SignInPorts = Pick<
  Ports,
  | "clock"
  | "ttlStore"
  | "log"
  | "mailer"
  | "pacer"
  | "projector"
  | "readAll"
  | "readAs"
  | "runner"
  | "sealing"
  | "settings"
  | "store"
  | "baseUrl"
>

/** What equal emails are known by, whatever company they are of. */
export function emailTagOf({ installationTag }: SignInPorts["sealing"], email: string): string {
  return installationTag(email.toLowerCase())
}

interface StoredCode<T> {
  readonly codeTag: string
  /** Null: nobody was told it. */
  readonly whom: T | null
  readonly triesLeft: number
}

/** The person to whom a code is mailed, at the stored address, and whom it signs in. */
export interface CodeRecipient<T> {
  readonly principal: T
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly address: string
  /** The words of the mail after "your code": in its subject, and in its first line. */
  readonly purposeText: { readonly subject: string; readonly line: string }
}

/** Codes for one purpose. A company is null where it is not known, which no caller is told. */
export interface SignInCodes<T> {
  /** Mails a code, if the email has an addressee. @param address as limits count it */
  readonly requestCode: (
    companyId: CompanyId | null,
    email: string,
    address: string,
  ) => SignInCodeRequest | { readonly refusal: Refusal }
  /** Whom a code signs in, once; null where it is not that, was tried too often, or is over. */
  readonly redeem: (companyId: CompanyId | null, browser: string, code: string) => Promise<T | null>
}

/** Opens the codes of a purpose, which are of no use for another. */
export function openSignInCodes<T>(
  ports: SignInPorts,
  purpose: string,
  addresseeOf: (
    companyId: CompanyId | null,
    email: string,
    browser: string,
  ) => Promise<CodeRecipient<T> | null>,
): SignInCodes<T> {
  const isCounted = ports.settings(rateSettings).RATE_LIMITS === "on"
  const rates = isCounted ? openRateLimits(ports) : NO_RATE_LIMITS
  const codes = openStoredCodes<T>(ports, purpose)
  const send = async (companyId: CompanyId | null, email: string, browser: string) => {
    try {
      const found = await addresseeOf(companyId, email, browser)
      const code = await codes.make(companyId, browser, found?.principal ?? null)
      if (found !== null) await mailCode(ports, found, code)
    } catch (error) {
      ports.log.warn("a sign-in code could not be sent", error)
    }
  }
  return {
    requestCode: (companyId, email, address) => {
      const tag = emailTagOf(ports.sealing, email)
      const refusal =
        rates.refuse(RATE_LIMITS.codesFrom, address) ?? rates.refuse(RATE_LIMITS.codesTo, tag)
      if (refusal !== null) return { refusal }
      const browserToken = newToken()
      return { browserToken, mailSent: send(companyId, email, browserToken) }
    },
    redeem: codes.use,
  }
}

/** Mails a code to the stored address: the typed one may differ in the case of its letters. */
async function mailCode<T>(
  ports: SignInPorts,
  { companyId, personId, address, purposeText }: CodeRecipient<T>,
  code: string,
): Promise<void> {
  const lines = [
    `${code} is your code ${purposeText.line}.`,
    "",
    "It works once, for 10 minutes, in the browser that asked for it.",
    "Did you not ask for it? Then do nothing, and tell it to nobody: without it nobody gets in.",
  ]
  const mail = {
    mailId: newId("mail"),
    companyId,
    recipients: [{ personId, address }],
    subject: `${code} is your code ${purposeText.subject}`,
    text: lines.join("\n"),
    about: personId,
  }
  const answer = await withProviderTimeout(
    ports.pacer,
    "the mailer",
    ports.mailer.sendSystemMail(mail),
  )
  if (answer.answer !== "taken") throw new Error(`the mailer did not take it: ${answer.answer}`)
}

/** The codes of a purpose, by the hash of the browser that asked. */
function openStoredCodes<T>(
  { ttlStore, clock, sealing }: Pick<Ports, "ttlStore" | "clock" | "sealing">,
  purpose: string,
) {
  const codes: TtlRecords<StoredCode<T>> = ttlStore.of({
    slice: "sign-in",
    kind: `${purpose} code`,
  })
  const nameOf = (browser: string) =>
    sealing.installationTag(JSON.stringify(["sign-in browser", purpose, browser]))
  const tagOf = (browser: string, code: string) =>
    sealing.installationTag(JSON.stringify(["sign-in code", purpose, browser, code]))
  return {
    make: async (companyId: CompanyId | null, browser: string, whom: T | null) => {
      const code = String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0")
      const content = { codeTag: tagOf(browser, code), whom, triesLeft: MAX_CODE_ATTEMPTS }
      const expiresAt = clock.now() + CODE_LIFETIME_MS
      await codes.update(companyId ?? NO_COMPANY, nameOf(browser), () => ({ content, expiresAt }))
      return code
    },
    use: async (companyId: CompanyId | null, browser: string, code: string) => {
      const [at, name] = [companyId ?? NO_COMPANY, nameOf(browser)]
      const found = await codes.find(at, name)
      if (found === null) return null
      const tag = tagOf(browser, code)
      let whom: T | null = null
      await codes.update(at, name, (known) => {
        const tried = tryCode(known ?? { ...found, expiresAt: 0 }, tag)
        whom = tried.whom
        return tried.code
      })
      return whom
    },
  }
}

/** A code once it was tried: by the right one it is used up, by another one try is gone. */
function tryCode<T>(
  known: TtlRecord<StoredCode<T>>,
  tag: string,
): { readonly code: TtlRecord<StoredCode<T>>; readonly whom: T | null } {
  const { codeTag, whom, triesLeft } = known.content
  if (triesLeft === 0 || known.expiresAt === 0) return { code: known, whom: null }
  const isRight = timingSafeEqual(Buffer.from(tag), Buffer.from(codeTag))
  const content = { ...known.content, triesLeft: isRight ? 0 : triesLeft - 1 }
  return { code: { ...known, content }, whom: isRight ? whom : null }
}

// Tokens that only their browser has: kept by their keyed hash, each with what it stands for, until it is
// over. As it was looked up it may be known for some seconds more.

/** More than anybody has open at once; what is dropped is looked up again. */
const MAX_CACHED = 10_000
/** A use lengthens a token's time by so much at least, or it would be written at each. */
const MIN_EXTENSION_MS = 5 * 60_000

/** What is no company's, or of nobody knows which: it is kept there. */
export const NO_COMPANY: CompanyId = "co_nobody"

/** How long tokens of one purpose last. */
interface TokenTerms {
  /** Those of one purpose are of no use for another. */
  readonly purpose: string
  /** What they are, in the singular: `session`. */
  readonly kind: string
  /** So long one is of use, */
  readonly lifetimeMs: number
  /** and where this is said, so long after each use anew, but no longer than this in all. */
  readonly maxLifetimeMs?: number
  /** So long what was looked up is known without looking again. */
  readonly cacheMs: number
}

/** Tokens of one purpose. A company is null where they are no company's. */
interface TokenStore<T> {
  /** Makes one. */
  readonly issue: (companyId: CompanyId | null, content: T) => Promise<string>
  /** What one stands for; null where it is none, or over. */
  readonly find: (companyId: CompanyId | null, token: string) => Promise<T | null>
  /** Uses one up: what it stood for is told to one of all who ask, and to nobody again. */
  readonly redeem: (companyId: CompanyId | null, token: string) => Promise<T | null>
  readonly revoke: (companyId: CompanyId | null, token: string) => Promise<void>
}

/** Something that nobody guesses. */
function newToken(): string {
  return randomBytes(32).toString("base64url")
}

interface StoredToken<T> {
  readonly for: T
  /** When it ends however much it is used. */
  readonly endsAt: number
}

interface CachedToken<T> extends TtlRecord<StoredToken<T>> {
  readonly readAt: number
}

/** Opens them. */
export function openTokenStore<T>(
  { ttlStore, clock, pacer, sealing }: Pick<Ports, "ttlStore" | "clock" | "pacer" | "sealing">,
  { purpose, kind, lifetimeMs, maxLifetimeMs, cacheMs }: TokenTerms,
): TokenStore<T> {
  const tokens: TtlRecords<StoredToken<T>> = ttlStore.of({
    slice: "sign-in",
    kind: `${purpose} ${kind}`,
  })
  const known = new Map<string, CachedToken<T>>()
  const nameOf = (token: string) =>
    sealing.installationTag(JSON.stringify([`sign-in ${kind}`, purpose, token]))
  // In memory by a hash that is quicker to make.
  const placeOf = (companyId: CompanyId, token: string) => hash("sha256", `${companyId} ${token}`)
  const lengthened = async (at: CompanyId, token: string, found: TtlRecord<StoredToken<T>>) => {
    const expiresAt = Math.min(found.content.endsAt, clock.now() + lifetimeMs)
    if (maxLifetimeMs === undefined || expiresAt - found.expiresAt < MIN_EXTENSION_MS) return
    // Who signs out in the same moment is signed out.
    await tokens.update(at, nameOf(token), (now) =>
      now === null ? { ...found, expiresAt: 0 } : { ...now, expiresAt },
    )
  }
  const find = async (at: CompanyId, token: string): Promise<TtlRecord<StoredToken<T>> | null> => {
    const place = placeOf(at, token)
    const former = known.get(place)
    const readAt = pacer.elapsedMs()
    if (former !== undefined && readAt - former.readAt < cacheMs) return former
    known.delete(place)
    const found = await tokens.find(at, nameOf(token))
    if (found === null) return null
    await lengthened(at, token, found)
    if (cacheMs === 0) return found
    if (known.size >= MAX_CACHED) known.clear()
    const looked = { ...found, readAt }
    known.set(place, looked)
    return looked
  }
  return {
    issue: async (companyId, content) => {
      const token = newToken()
      const now = clock.now()
      const thing = {
        content: { for: content, endsAt: now + (maxLifetimeMs ?? lifetimeMs) },
        expiresAt: now + lifetimeMs,
      }
      await tokens.update(companyId ?? NO_COMPANY, nameOf(token), () => thing)
      return token
    },
    find: async (companyId, token) => {
      const found = await find(companyId ?? NO_COMPANY, token)
      return found === null || found.expiresAt <= clock.now() ? null : found.content.for
    },
    redeem: async (companyId, token) => {
      const at = companyId ?? NO_COMPANY
      const found = await tokens.find(at, nameOf(token))
      if (found === null) return null
      let used: T | null = null
      await tokens.update(at, nameOf(token), (now) => {
        used = now === null ? null : now.content.for
        return { ...found, expiresAt: 0 }
      })
      return used
    },
    revoke: async (companyId, token) => {
      const at = companyId ?? NO_COMPANY
      await tokens.delete(at, nameOf(token))
      known.delete(placeOf(at, token))
    },
  }
}

/** Whatever the host is: it only shows whether a path stays there. */
const PLACEHOLDER_ORIGIN = "http://here.invalid"

/**
 * A path, with its query, that leads nowhere but to the own host; `/` for whatever is none. Browsers take a
 * backslash for a slash, drop tabs and line feeds, and resolve dots before they look for a second slash.
 */
export function sameHostPath(next: string | null): string {
  if (next === null || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return "/"
  if (!URL.canParse(next, PLACEHOLDER_ORIGIN)) return "/"
  const { origin, pathname, search } = new URL(next, PLACEHOLDER_ORIGIN)
  return origin === PLACEHOLDER_ORIGIN && !pathname.startsWith("//") ? `${pathname}${search}` : "/"
}

/** Whether a form was sent from a page of the host it is sent to: every browser says so of a form. */
export function isSameOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false
  const { protocol, host: asked } = new URL(origin)
  if (!/^https?:$/.test(protocol) || !URL.canParse(`${protocol}//${host}`)) return false
  return asked === new URL(`${protocol}//${host}`).host
}

/** The token in a cookie of a `Cookie` header; null where there is none. */
export function tokenFromCookie(header: string | undefined, name: string): string | null {
  const token = cookieValue(header, name)
  return token !== null && /^[\w-]{43}$/.test(token) ? token : null
}

/** A `Set-Cookie` that keeps a token in a browser, out of reach of scripts, for a time; 0 ends it. */
export function tokenCookie(name: string, token: string, lastsMs: number, isPlain = false): string {
  const lasts = `Max-Age=${Math.floor(lastsMs / 1_000)}`
  return `${name}=${token}; ${lasts}; Path=/${isPlain ? "" : "; Secure"}; HttpOnly; SameSite=Lax`
}
