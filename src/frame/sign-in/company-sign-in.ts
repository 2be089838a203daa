/**
 * Sign-in to one company's pages by an emailed code, for twelve hours. A session ends with the person. Sessions are
 * cached for ten seconds, so a sign-out takes that long in other processes.
 */
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { findPerson, personByEmailTag } from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import { listPeople, findPeopleByEmail } from "../../../projections/access/people.ts"
import { companyName } from "../effects/mail-people.ts"
import { toSingleLine } from "../effects/mail-people.ts"
import type { Ports } from "../ports.ts"
import type { CodeRecipient, SignInCodes, SignInPorts } from "./codes.ts"
import { openSignInCodes, emailTagOf, openTokenStore } from "./codes.ts"
import { CompanyErased } from "../../../adapters/sealing/port.ts"
import { listInvitationsTo, findInvitedEmail } from "../../../projections/access/invitations.ts"
import { causedBy } from "../kernel/envelope.ts"
import { derivedId, newId } from "../kernel/ids.ts"

/** Lifetime of a session, milliseconds. */
export const SESSION_LIFETIME_MS = 12 * 3_600_000
const SESSION_CACHE_MS = 10_000

/** The pages that people sign in to. */
interface SignInPurpose {
  /** Codes and sessions of one purpose are not valid for another. */
  readonly purpose: string
  /** Name in the mail: `the preview`. */
  readonly displayName: string
}

export interface CompanySignIn extends Pick<SignInCodes<PersonId>, "requestCode"> {
  /** Signs in with a code. Returns the session's token; null if the code is wrong or expired. */
  readonly signInWithCode: (
    companyId: CompanyId | null,
    browser: string,
    code: string,
  ) => Promise<string | null>
  /** Returns the person who is signed in by a token; null if none is. */
  readonly personOf: (companyId: CompanyId, token: string) => Promise<PersonId | null>
  readonly signOut: (companyId: CompanyId, token: string) => Promise<void>
}

/** Opens the sign-in of a purpose. */
export function openCompanySignIn(
  ports: Ports,
  { purpose, displayName }: SignInPurpose,
): CompanySignIn {
  const codes = openSignInCodes<PersonId>(ports, purpose, async (companyId, email) =>
    companyId === null ? null : findCodeRecipient(ports, companyId, email, displayName),
  )
  const sessions = openTokenStore<{ readonly personId: PersonId }>(ports, {
    purpose,
    kind: "session",
    lifetimeMs: SESSION_LIFETIME_MS,
    cacheMs: SESSION_CACHE_MS,
  })
  return {
    requestCode: codes.requestCode,
    signInWithCode: async (companyId, browser, code) => {
      const personId = await codes.redeem(companyId, browser, code)
      if (companyId === null || personId === null) return null
      return sessions.issue(companyId, { personId })
    },
    personOf: async (companyId, token) => {
      const found = await sessions.find(companyId, token)
      if (found === null) return null
      const { personId } = found
      const find = accessStreamOf(companyId)
      const person = await ports.runner.read(find, (state) => findPerson(state, personId))
      return person === null ? null : personId
    },
    signOut: sessions.revoke,
  }
}

/** Finds the person of a company with an email; null if there is none or the company is deleted. */
async function findCodeRecipient(
  ports: Ports,
  companyId: CompanyId,
  email: string,
  called: string,
): Promise<CodeRecipient<PersonId> | null> {
  const { runner } = ports
  const emailTag = await companyEmailTag(ports, companyId, email)
  if (emailTag === null) return null
  const find = accessStreamOf(companyId)
  const personId = await runner.readLatest(find, (state) => personByEmailTag(state, emailTag))
  if (personId === null || (await runner.read(ledgerStreamOf(companyId), deletionOf)) !== null)
    return null
  await ports.projector.waitUntilWritten(await ports.store.head(), READ_MODELS_WAIT_MS, ["people"])
  const people = await ports.readAs(companyId, (db) => listPeople(db, companyId))
  const address = people.find((one) => one.person_id === personId)?.email ?? null
  if (address === null) return null
  const company = toSingleLine(await companyName(ports, companyId))
  const line = `to sign in to ${called} of ${company}`
  return {
    principal: personId,
    companyId,
    personId,
    address,
    purposeText: { subject: `for ${company}`, line },
  }
}

/** Maximum wait for the read models of people, milliseconds. */
const READ_MODELS_WAIT_MS = 5_000
const READ_MODELS = ["people", "invitations"]

/** An email at a company, by its tag there; `inviteId` is null for a person, else the invitation. */
export interface EmailMembership {
  readonly companyId: CompanyId
  readonly emailTag: string
  readonly inviteId: string | null
}

/** The memberships and invitations that a code signs in to. */
export interface SignInTarget {
  readonly emailTag: string
  readonly at: readonly EmailMembership[]
}

/** Returns the id of the person that an invitation creates; the same for every acceptance. */
export function invitedPersonId(companyId: CompanyId, inviteId: string): PersonId {
  return derivedId("per", companyId, inviteId)
}

/** Finds the memberships and invitations of an email; null if there are none. */
export async function findEmailMemberships(
  ports: SignInPorts,
  email: string,
): Promise<CodeRecipient<SignInTarget> | null> {
  await ports.projector.waitUntilWritten(await ports.store.head(), READ_MODELS_WAIT_MS, READ_MODELS)
  const [people, invited] = await Promise.all([
    findPeopleByEmail(ports.readAll, email),
    listInvitationsTo(ports.readAll, email, ports.clock.now()),
  ])
  const rows = [
    ...people.map((row) => ({ ...row, inviteId: null, personId: row.person_id })),
    ...invited.map((row) => {
      const personId = invitedPersonId(row.company_id, row.invite_id)
      return { ...row, inviteId: row.invite_id, personId }
    }),
  ]
  const at: EmailMembership[] = []
  for (const { company_id: companyId, inviteId } of rows) {
    const emailTag = await companyEmailTag(ports, companyId, email)
    if (emailTag !== null) at.push({ companyId, emailTag, inviteId })
  }
  const first = rows.find(({ company_id: companyId }) => companyId === at[0]?.companyId)
  const address = first?.email ?? null
  if (first === undefined || address === null) return null
  return {
    principal: { emailTag: emailTagOf(ports.sealing, email), at },
    companyId: first.company_id,
    personId: first.personId,
    address,
    purposeText: { subject: "to sign in", line: `to sign in at ${ports.baseUrl()}` },
  }
}

/** Returns the email's tag at a company; null if the company was erased. */
async function companyEmailTag(
  { sealing }: SignInPorts,
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

/** Accepts an invitation, which creates a person, unless it has ended. */
export async function acceptInvitation(
  ports: SignInPorts,
  { companyId, emailTag, inviteId }: EmailMembership & { readonly inviteId: string },
  called: string | null,
): Promise<void> {
  const { sealing, runner } = ports
  const email = await ports.readAs(companyId, (db) => findInvitedEmail(db, companyId, inviteId))
  if (email === null) return
  const personId = invitedPersonId(companyId, inviteId)
  const name = called ?? email.slice(0, email.lastIndexOf("@"))
  await runner.execute(
    accessStreamOf(companyId),
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
