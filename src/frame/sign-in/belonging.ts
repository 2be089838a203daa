/** Where an email belongs: the companies that have a person with it, and those that invited it. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import { CompanyErased } from "../../../adapters/sealing/port.ts"
import { invitationsTo, invitedEmail } from "../../../projections/access/invitations.ts"
import { peopleWithEmail } from "../../../projections/access/people.ts"
import { causedBy } from "../kernel/envelope.ts"
import { derivedId, newId } from "../kernel/ids.ts"
import type { AccountPorts, Addressee } from "./codes.ts"
import { emailTagOf } from "./codes.ts"

/** How long the read models of people are waited for, milliseconds. */
export const READ_MODELS_WAIT_MS = 5_000
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
export async function tagAt(
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
