/**
 * Who is signed in: a session is a token that only its browser has, kept by its keyed hash for twelve hours.
 * It ends with the person, whom every look finds among the company's people or not at all; and as it was
 * looked up it is known for ten seconds, so a session that is left in another process is over by then.
 */
import { hash, randomBytes } from "node:crypto"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { findPerson } from "../../../domain/access/access.ts"
import type { KeptThing, KeptThings } from "../../../adapters/kept/port.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../ports.ts"

/** So long somebody is signed in. */
export const SESSION_LASTS_MS = 12 * 3_600_000

const KNOWN_MS = 10_000
/** More than anybody has open at once; what is dropped is looked up again. */
const MOST_KNOWN = 10_000

interface Session {
  readonly personId: PersonId
}

interface Known extends KeptThing<Session> {
  readonly lookedAt: number
}

/** Sessions for one purpose. */
export interface Sessions {
  /** Signs somebody in; answers the token. */
  readonly begin: (companyId: CompanyId, personId: PersonId) => Promise<string>
  /** Who is signed in by a token; null where nobody is. */
  readonly personOf: (companyId: CompanyId, token: string) => Promise<PersonId | null>
  /** Signs out. */
  readonly end: (companyId: CompanyId, token: string) => Promise<void>
}

/** Something that nobody guesses. */
export function newToken(): string {
  return randomBytes(32).toString("base64url")
}

/** Opens them. */
export function openSessions(
  { kept, clock, pacer, sealing, runner }: Ports,
  purpose: string,
): Sessions {
  const sessions: KeptThings<Session> = kept.of({ slice: "sign-in", kind: `${purpose} session` })
  const known = new Map<string, Known>()
  const nameOf = (token: string) =>
    sealing.installationTag(JSON.stringify(["sign-in session", purpose, token]))
  // In memory by a hash that is quicker to make.
  const placeOf = (companyId: CompanyId, token: string) => hash("sha256", `${companyId} ${token}`)
  const find = async (companyId: CompanyId, token: string): Promise<Known | null> => {
    const place = placeOf(companyId, token)
    const former = known.get(place)
    const lookedAt = pacer.elapsedMs()
    if (former !== undefined && lookedAt - former.lookedAt < KNOWN_MS) return former
    known.delete(place)
    const found = await sessions.find(companyId, nameOf(token))
    if (found === null) return null
    if (known.size >= MOST_KNOWN) known.clear()
    const looked = { ...found, lookedAt }
    known.set(place, looked)
    return looked
  }
  return {
    begin: async (companyId, personId) => {
      const token = newToken()
      const until = clock.now() + SESSION_LASTS_MS
      await sessions.change(companyId, nameOf(token), () => ({ content: { personId }, until }))
      return token
    },
    personOf: async (companyId, token) => {
      const found = await find(companyId, token)
      if (found === null || found.until <= clock.now()) return null
      const { personId } = found.content
      const person = await runner.read(accessOf(companyId), (state) => findPerson(state, personId))
      return person === null ? null : personId
    },
    end: async (companyId, token) => {
      await sessions.forget(companyId, nameOf(token))
      known.delete(placeOf(companyId, token))
    },
  }
}
