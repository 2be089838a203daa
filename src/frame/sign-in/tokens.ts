/**
 * Tokens that only their browser has: kept by their keyed hash, each with what it stands for, until it is
 * over. As it was looked up it may be known for some seconds more.
 */
import { hash, randomBytes } from "node:crypto"
import type { KeptThing, KeptThings } from "../../../adapters/postgres/ttl-store/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../ports.ts"

/** More than anybody has open at once; what is dropped is looked up again. */
const MOST_KNOWN = 10_000
/** A use lengthens a token's time by so much at least, or it would be written at each. */
const LENGTHENED_BY_MS = 5 * 60_000

/** What is no company's, or of nobody knows which: it is kept there. */
export const NOBODYS: CompanyId = "co_nobody"

/** How long tokens of one purpose last. */
export interface TokenTerms {
  /** Those of one purpose are of no use for another. */
  readonly purpose: string
  /** What they are, in the singular: `session`. */
  readonly kind: string
  /** So long one is of use, */
  readonly lastsMs: number
  /** and where this is said, so long after each use anew, but no longer than this in all. */
  readonly mostMs?: number
  /** So long what was looked up is known without looking again. */
  readonly knownMs: number
}

/** Tokens of one purpose. A company is null where they are no company's. */
export interface Tokens<T> {
  /** Makes one. */
  readonly begin: (companyId: CompanyId | null, content: T) => Promise<string>
  /** What one stands for; null where it is none, or over. */
  readonly find: (companyId: CompanyId | null, token: string) => Promise<T | null>
  /** Uses one up: what it stood for is told to one of all who ask, and to nobody again. */
  readonly use: (companyId: CompanyId | null, token: string) => Promise<T | null>
  readonly end: (companyId: CompanyId | null, token: string) => Promise<void>
}

/** Something that nobody guesses. */
export function newToken(): string {
  return randomBytes(32).toString("base64url")
}

interface Standing<T> {
  readonly for: T
  /** When it ends however much it is used. */
  readonly endsAt: number
}

interface Known<T> extends KeptThing<Standing<T>> {
  readonly lookedAt: number
}

/** Opens them. */
export function openTokens<T>(
  { kept, clock, pacer, sealing }: Pick<Ports, "kept" | "clock" | "pacer" | "sealing">,
  { purpose, kind, lastsMs, mostMs, knownMs }: TokenTerms,
): Tokens<T> {
  const tokens: KeptThings<Standing<T>> = kept.of({ slice: "sign-in", kind: `${purpose} ${kind}` })
  const known = new Map<string, Known<T>>()
  const nameOf = (token: string) =>
    sealing.installationTag(JSON.stringify([`sign-in ${kind}`, purpose, token]))
  // In memory by a hash that is quicker to make.
  const placeOf = (companyId: CompanyId, token: string) => hash("sha256", `${companyId} ${token}`)
  const lengthened = async (at: CompanyId, token: string, found: KeptThing<Standing<T>>) => {
    const until = Math.min(found.content.endsAt, clock.now() + lastsMs)
    if (mostMs === undefined || until - found.until < LENGTHENED_BY_MS) return
    // Who signs out in the same moment is signed out.
    await tokens.change(at, nameOf(token), (now) =>
      now === null ? { ...found, until: 0 } : { ...now, until },
    )
  }
  const find = async (at: CompanyId, token: string): Promise<KeptThing<Standing<T>> | null> => {
    const place = placeOf(at, token)
    const former = known.get(place)
    const lookedAt = pacer.elapsedMs()
    if (former !== undefined && lookedAt - former.lookedAt < knownMs) return former
    known.delete(place)
    const found = await tokens.find(at, nameOf(token))
    if (found === null) return null
    await lengthened(at, token, found)
    if (knownMs === 0) return found
    if (known.size >= MOST_KNOWN) known.clear()
    const looked = { ...found, lookedAt }
    known.set(place, looked)
    return looked
  }
  return {
    begin: async (companyId, content) => {
      const token = newToken()
      const now = clock.now()
      const thing = {
        content: { for: content, endsAt: now + (mostMs ?? lastsMs) },
        until: now + lastsMs,
      }
      await tokens.change(companyId ?? NOBODYS, nameOf(token), () => thing)
      return token
    },
    find: async (companyId, token) => {
      const found = await find(companyId ?? NOBODYS, token)
      return found === null || found.until <= clock.now() ? null : found.content.for
    },
    use: async (companyId, token) => {
      const at = companyId ?? NOBODYS
      const found = await tokens.find(at, nameOf(token))
      if (found === null) return null
      let used: T | null = null
      await tokens.change(at, nameOf(token), (now) => {
        used = now === null ? null : now.content.for
        return { ...found, until: 0 }
      })
      return used
    },
    end: async (companyId, token) => {
      const at = companyId ?? NOBODYS
      await tokens.forget(at, nameOf(token))
      known.delete(placeOf(at, token))
    },
  }
}
