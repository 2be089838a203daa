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
import { listPeople, peopleWithEmail } from "../../../projections/access/people.ts"
import { companyName } from "../effects/mail-people.ts"
import { oneLine } from "../effects/mail-people.ts"
import type { Ports } from "../ports.ts"
import type { Addressee, Codes, AccountPorts } from "./codes.ts"
import { openCodes, emailTagOf, openTokens } from "./codes.ts"
import { CompanyErased } from "../../../adapters/sealing/port.ts"
import { invitationsTo, invitedEmail } from "../../../projections/access/invitations.ts"
import { causedBy } from "../kernel/envelope.ts"
import { derivedId, newId } from "../kernel/ids.ts"

/** How long a session lasts, milliseconds. */
export const SESSION_LASTS_MS = 12 * 3_600_000
const KNOWN_MS = 10_000

/** What people sign in to. */
interface SignInTo {
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

/** How long the read models of people are waited for, milliseconds. */
const READ_MODELS_WAIT_MS = 5_000
const READ = ["people", "invitations"]

/** An email at a company, by its tag there; `inviteId` is null where somebody of the company has it. */
export interface Belonging {
  readonly companyId: CompanyId
  readonly emailTag: string
  readonly inviteId: string | null
}

/** What a code was asked for. */
export interface AskedFor {
  readonly emailTag: string
  readonly at: readonly Belonging[]
}

/** The id of the person whom an invitation makes: the same, however often it is accepted. */
export function invitedPersonId(companyId: CompanyId, inviteId: string): PersonId {
  return derivedId("per", companyId, inviteId)
}

/** Where an email belongs; null for nowhere. */
export async function belongingsOf(
  ports: AccountPorts,
  email: string,
): Promise<Addressee<AskedFor> | null> {
  await ports.projector.waitFor(await ports.store.head(), READ_MODELS_WAIT_MS, READ)
  const [people, invited] = await Promise.all([
    peopleWithEmail(ports.readAll, email),
    invitationsTo(ports.readAll, email, ports.clock.now()),
  ])
  const rows = [
    ...people.map((row) => ({ ...row, inviteId: null, personId: row.person_id })),
    ...invited.map((row) => {
      const personId = invitedPersonId(row.company_id, row.invite_id)
      return { ...row, inviteId: row.invite_id, personId }
    }),
  ]
  const at: Belonging[] = []
  for (const { company_id: companyId, inviteId } of rows) {
    const emailTag = await tagAt(ports, companyId, email)
    if (emailTag !== null) at.push({ companyId, emailTag, inviteId })
  }
  const first = rows.find(({ company_id: companyId }) => companyId === at[0]?.companyId)
  const address = first?.email ?? null
  if (first === undefined || address === null) return null
  return {
    whom: { emailTag: emailTagOf(ports.sealing, email), at },
    companyId: first.company_id,
    personId: first.personId,
    address,
    purposeText: { subject: "to sign in", line: `to sign in at ${ports.baseUrl()}` },
  }
}

/** The email's tag at a company; null once that was erased. */
async function tagAt(
  { sealing }: AccountPorts,
  companyId: CompanyId,
  email: string,
): Promise<string | null> {
  try {
    return await sealing.tag(companyId, email.toLowerCase())
  } catch (error) {
    if (error instanceof CompanyErased) return null
    throw error
  }
}

/** Makes a person of whom an invitation invited, unless that is over. */
export async function accept(
  ports: AccountPorts,
  { companyId, emailTag, inviteId }: Belonging & { readonly inviteId: string },
  called: string | null,
): Promise<void> {
  const { sealing, runner } = ports
  const email = await ports.readAs(companyId, (db) => invitedEmail(db, companyId, inviteId))
  if (email === null) return
  const personId = invitedPersonId(companyId, inviteId)
  const name = called ?? email.slice(0, email.lastIndexOf("@"))
  await runner.execute(
    accessOf(companyId),
    {
      type: "AcceptInvitation",
      inviteId,
      personId,
      emailTag,
      name: await sealing.seal(companyId, personId, name),
      email: await sealing.seal(companyId, personId, email),
    },
    { ...causedBy(newId("cmd")), personId },
  )
}
