/**
 * Sign-in codes: mailed, valid for ten minutes, once, and only in the browser that requested them. An email
 * without a person gets a code too, which is not mailed, so that no answer or timing reveals whether it exists.
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

/** How long a code is valid. */
export const CODE_LIFETIME_MS = 10 * 60_000
/** How many times a code may be tried. */
export const MAX_CODE_ATTEMPTS = 5

const DIGITS = 6

/** The ports of sign-in, most of which exist before the others are opened. */
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

/** Returns the tag of an email, equal across companies. */
export function emailTagOf({ installationTag }: SignInPorts["sealing"], email: string): string {
  return installationTag(email.toLowerCase())
}

interface StoredCode<T> {
  readonly codeTag: string
  /** Null if the code was not mailed. */
  readonly whom: T | null
  readonly triesLeft: number
}

/** The person that a code is mailed to, at the stored address. */
export interface CodeRecipient<T> {
  readonly principal: T
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly address: string
  /** The words after "your code" in the mail's subject and first line. */
  readonly purposeText: { readonly subject: string; readonly line: string }
}

/** Codes for one purpose. The company is null if it is not known, which no answer reveals. */
export interface SignInCodes<T> {
  /** Mails a code if a person has the email. @param address the client's address, for rate limits */
  readonly requestCode: (
    companyId: CompanyId | null,
    email: string,
    address: string,
  ) => SignInCodeRequest | { readonly refusal: Refusal }
  /** Redeems a code once; null if it is wrong, expired or was tried too often. */
  readonly redeem: (companyId: CompanyId | null, browser: string, code: string) => Promise<T | null>
}

/** Opens the codes of a purpose; they are not valid for another. */
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

/** Mails a code to the stored address, which may differ from the typed one in case. */
async function mailCode<T>(
  ports: SignInPorts,
  { companyId, personId, address, purposeText }: CodeRecipient<T>,
  code: string,
): Promise<void> {
  const lines = [
    `${code} is your code ${purposeText.line}.`,
    "",
    "It works once, for 10 minutes, in the browser that requested it.",
    "If you did not request it, ignore this mail and do not share the code.",
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
  if (answer.answer !== "accepted")
    throw new Error(`the mailer did not accept the mail: ${answer.answer}`)
}

/** Stores the codes of a purpose by the hash of the requesting browser. */
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

/** Tries a code: the right one is used up, a wrong one costs an attempt. */
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

// Tokens that only their browser has are stored by their keyed hash, each with its content and expiry. A found
// token may be cached for some seconds.

/** Maximum number of cached tokens; dropped ones are read again. */
const MAX_CACHED = 10_000
/** Minimum extension of a token's expiry, so that not every use writes. */
const MIN_EXTENSION_MS = 5 * 60_000

/** The storage company of tokens and codes without a known company. */
export const NO_COMPANY: CompanyId = "co_nobody"

interface TokenTerms {
  /** Tokens of one purpose are not valid for another. */
  readonly purpose: string
  /** Name in the singular: `session`. */
  readonly kind: string
  readonly lifetimeMs: number
  /** extended by each use up to this total; absent: not extended. */
  readonly maxLifetimeMs?: number
  /** How long a found token is cached. */
  readonly cacheMs: number
}

/** Tokens of one purpose. The company is null if they belong to none. */
interface TokenStore<T> {
  readonly issue: (companyId: CompanyId | null, content: T) => Promise<string>
  /** Returns a token's content; null if it is unknown or expired. */
  readonly find: (companyId: CompanyId | null, token: string) => Promise<T | null>
  /** Uses a token up; of concurrent callers only one gets its content. */
  readonly redeem: (companyId: CompanyId | null, token: string) => Promise<T | null>
  readonly revoke: (companyId: CompanyId | null, token: string) => Promise<void>
}

function newToken(): string {
  return randomBytes(32).toString("base64url")
}

interface StoredToken<T> {
  readonly for: T
  /** Expiry regardless of use. */
  readonly endsAt: number
}

interface CachedToken<T> extends TtlRecord<StoredToken<T>> {
  readonly readAt: number
}

/** Opens the tokens of a purpose. */
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
  // A plain hash is faster and sufficient in memory.
  const cacheKeyOf = (companyId: CompanyId, token: string) =>
    hash("sha256", `${companyId} ${token}`)
  const extend = async (at: CompanyId, token: string, found: TtlRecord<StoredToken<T>>) => {
    const expiresAt = Math.min(found.content.endsAt, clock.now() + lifetimeMs)
    if (maxLifetimeMs === undefined || expiresAt - found.expiresAt < MIN_EXTENSION_MS) return
    // A concurrent sign-out wins.
    await tokens.update(at, nameOf(token), (now) =>
      now === null ? { ...found, expiresAt: 0 } : { ...now, expiresAt },
    )
  }
  const find = async (at: CompanyId, token: string): Promise<TtlRecord<StoredToken<T>> | null> => {
    const cacheKey = cacheKeyOf(at, token)
    const former = known.get(cacheKey)
    const readAt = pacer.elapsedMs()
    if (former !== undefined && readAt - former.readAt < cacheMs) return former
    known.delete(cacheKey)
    const found = await tokens.find(at, nameOf(token))
    if (found === null) return null
    await extend(at, token, found)
    if (cacheMs === 0) return found
    if (known.size >= MAX_CACHED) known.clear()
    const cached = { ...found, readAt }
    known.set(cacheKey, cached)
    return cached
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
      known.delete(cacheKeyOf(at, token))
    },
  }
}

/** An arbitrary host to resolve paths against. */
const PLACEHOLDER_ORIGIN = "http://here.invalid"

/**
 * Returns a path with its query if it stays on the same host; else `/`. Browsers treat a backslash as a slash, drop
 * tabs and line feeds, and resolve dots before they look for a second slash.
 */
export function sameHostPath(next: string | null): string {
  if (next === null || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return "/"
  if (!URL.canParse(next, PLACEHOLDER_ORIGIN)) return "/"
  const { origin, pathname, search } = new URL(next, PLACEHOLDER_ORIGIN)
  return origin === PLACEHOLDER_ORIGIN && !pathname.startsWith("//") ? `${pathname}${search}` : "/"
}

/** Whether a form was sent from a page of the same host; every browser sends the origin of a form. */
export function isSameOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false
  const { protocol, host: originHost } = new URL(origin)
  if (!/^https?:$/.test(protocol) || !URL.canParse(`${protocol}//${host}`)) return false
  return originHost === new URL(`${protocol}//${host}`).host
}

/** Returns the token in a cookie of a `Cookie` header; null if there is none. */
export function tokenFromCookie(header: string | undefined, name: string): string | null {
  const token = cookieValue(header, name)
  return token !== null && /^[\w-]{43}$/.test(token) ? token : null
}

/** Returns a `Set-Cookie` value that stores a token out of reach of scripts; a lifetime of 0 deletes it. */
export function tokenCookie(name: string, token: string, lastsMs: number, isPlain = false): string {
  const lasts = `Max-Age=${Math.floor(lastsMs / 1_000)}`
  return `${name}=${token}; ${lasts}; Path=/${isPlain ? "" : "; Secure"}; HttpOnly; SameSite=Lax`
}
