/**
 * Who is signed in at one company: for twelve hours. A session ends with the person, whom every look finds
 * among the company's people or not at all; and as it was looked up it is known for ten seconds, so one that
 * is left in another process is over by then.
 */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { findPerson } from "../../../domain/access/access.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../ports.ts"
import { openTokens } from "./tokens.ts"

/** So long somebody is signed in. */
export const SESSION_LASTS_MS = 12 * 3_600_000

const KNOWN_MS = 10_000

/** Sessions for one purpose. */
export interface Sessions {
  /** Signs somebody in; answers the token. */
  readonly begin: (companyId: CompanyId, personId: PersonId) => Promise<string>
  /** Who is signed in by a token; null where nobody is. */
  readonly personOf: (companyId: CompanyId, token: string) => Promise<PersonId | null>
  /** Signs out. */
  readonly end: (companyId: CompanyId, token: string) => Promise<void>
}

/** Opens them. */
export function openSessions(ports: Ports, purpose: string): Sessions {
  const { runner } = ports
  const terms = { purpose, kind: "session", lastsMs: SESSION_LASTS_MS, knownMs: KNOWN_MS }
  const tokens = openTokens<{ readonly personId: PersonId }>(ports, terms)
  return {
    begin: (companyId, personId) => tokens.begin(companyId, { personId }),
    personOf: async (companyId, token) => {
      const found = await tokens.find(companyId, token)
      if (found === null) return null
      const { personId } = found
      const person = await runner.read(accessOf(companyId), (state) => findPerson(state, personId))
      return person === null ? null : personId
    },
    end: tokens.end,
  }
}
