/**
 * Signing in to one company's pages by an emailed code, for twelve hours. A session ends with the person, whom
 * every look finds among the company's people or not at all; and as it was looked up it is known for ten
 * seconds, so one that is left in another process is over by then.
 */
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { findPerson, personByEmailTag } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import { listPeople } from "../../../projections/access/people.ts"
import { companyName } from "../effects/mail-people.ts"
import { oneLine } from "../effects/mail-words.ts"
import type { Ports } from "../ports.ts"
import { READ_MODELS_WAIT_MS, tagAt } from "./belonging.ts"
import type { Addressee, Codes } from "./codes.ts"
import { openCodes } from "./codes.ts"
import { openTokens } from "./tokens.ts"

/** How long a session lasts, milliseconds. */
export const SESSION_LASTS_MS = 12 * 3_600_000
const KNOWN_MS = 10_000

/** What people sign in to. */
export interface SignInTo {
  /** Codes and sessions of one purpose are of no use for another. */
  readonly purpose: string
  /** Its name in the mail: `the preview`. */
  readonly called: string
}

/** Signing in to a company's pages. */
export interface SignIn extends Pick<Codes<PersonId>, "ask"> {
  /** Signs in by a code; answers the session's token, null where the code is not right, or over. */
  readonly enter: (
    companyId: CompanyId | null,
    browser: string,
    code: string,
  ) => Promise<string | null>
  /** Who is signed in by a token; null for no person. */
  readonly personOf: (companyId: CompanyId, token: string) => Promise<PersonId | null>
  readonly leave: (companyId: CompanyId, token: string) => Promise<void>
}

/** Opens it. */
export function openSignIn(ports: Ports, { purpose, called }: SignInTo): SignIn {
  const codes = openCodes<PersonId>(ports, purpose, async (companyId, email) =>
    companyId === null ? null : addresseeAt(ports, companyId, email, called),
  )
  const sessions = openTokens<{ readonly personId: PersonId }>(ports, {
    purpose,
    kind: "session",
    lastsMs: SESSION_LASTS_MS,
    knownMs: KNOWN_MS,
  })
  return {
    ask: codes.ask,
    enter: async (companyId, browser, code) => {
      const personId = await codes.use(companyId, browser, code)
      if (companyId === null || personId === null) return null
      return sessions.begin(companyId, { personId })
    },
    personOf: async (companyId, token) => {
      const found = await sessions.find(companyId, token)
      if (found === null) return null
      const { personId } = found
      const find = accessOf(companyId)
      const person = await ports.runner.read(find, (state) => findPerson(state, personId))
      return person === null ? null : personId
    },
    leave: sessions.end,
  }
}

/** The person of a company with an email; null for no person, and in a company that was deleted. */
async function addresseeAt(
  ports: Ports,
  companyId: CompanyId,
  email: string,
  called: string,
): Promise<Addressee<PersonId> | null> {
  const { runner } = ports
  const emailTag = await tagAt(ports, companyId, email)
  if (emailTag === null) return null
  const find = accessOf(companyId)
  const personId = await runner.readLatest(find, (state) => personByEmailTag(state, emailTag))
  if (personId === null || (await runner.read(ledgerOf(companyId), deletionOf)) !== null)
    return null
  await ports.projector.waitFor(await ports.store.head(), READ_MODELS_WAIT_MS, ["people"])
  const people = await ports.readAs(companyId, (db) => listPeople(db, companyId))
  const address = people.find((one) => one.person_id === personId)?.email ?? null
  if (address === null) return null
  const company = oneLine(await companyName(ports, companyId))
  const line = `to sign in to ${called} of ${company}`
  return {
    whom: personId,
    companyId,
    personId,
    address,
    purposeText: { subject: `for ${company}`, line },
  }
}
