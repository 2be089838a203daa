/**
 * Sign-in by email without naming a company: the owner of a mailbox is signed in as each person with that address,
 * in any company, and accepts its invitations. A membership of a session ends with the person or a change of
 * role. No answer or timing reveals whether an email exists.
 */
import { findPerson, personByEmailTag, companyProfileOf } from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { ConsoleSignIn, Membership, Profile } from "../console-ports.ts"
import type { SignInTarget, EmailMembership } from "./company-sign-in.ts"
import { acceptInvitation, findEmailMemberships } from "./company-sign-in.ts"
import type { SignInPorts } from "./codes.ts"
import {
  CODE_LIFETIME_MS,
  emailTagOf,
  openSignInCodes,
  NO_COMPANY,
  openTokenStore,
} from "./codes.ts"
import { canPerform, ALL_OPERATIONS } from "../../../domain/access/permissions.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { findPersonRow } from "../../../projections/access/people.ts"

const PURPOSE = "console"
/** A session ends after this long without use. */
export const SESSION_IDLE_MS = 12 * 3_600_000
/** A session ends this long after the sign-in at the latest. */
export const SESSION_MAX_MS = 30 * 86_400_000
/** How long an operator's sign-in link is valid. */
export const LINK_LIFETIME_MS = 10 * 60_000

interface ConsoleSession {
  readonly memberships: readonly Membership[]
}

/** Opens the sign-in of the console. */
export function openConsoleSignIn(ports: SignInPorts): ConsoleSignIn {
  const newest = openNewestRequests(ports)
  const codes = openSignInCodes<SignInTarget>(ports, PURPOSE, async (_nowhere, email, browser) => {
    const found = await findEmailMemberships(ports, email)
    await newest.set(email, browser)
    return found
  })
  const terms = { purpose: PURPOSE, cacheMs: 0 }
  const sessions = openTokenStore<ConsoleSession>(ports, {
    ...terms,
    kind: "session",
    lifetimeMs: SESSION_IDLE_MS,
    maxLifetimeMs: SESSION_MAX_MS,
  })
  const links = openTokenStore<Omit<Membership, "role">>(ports, {
    ...terms,
    kind: "link",
    lifetimeMs: LINK_LIFETIME_MS,
  })
  const begin = async (found: readonly Omit<Membership, "role">[]): Promise<string | null> => {
    const current = await Promise.all(found.map((one) => currentMembership(ports, one)))
    const memberships = current.filter((one) => one !== null)
    return memberships.length === 0 ? null : sessions.issue(null, { memberships })
  }
  return {
    requestCode: (email, address) => codes.requestCode(null, email, address),
    signInWithCode: async (browser, code, name) => {
      const target = await codes.redeem(null, browser, code)
      if (target === null || !(await newest.is(target.emailTag, browser))) return null
      const people = await Promise.all(target.at.map((one) => findOrInvitePerson(ports, one, name)))
      return begin(people.filter((one) => one !== null))
    },
    createLink: (companyId, personId) => links.issue(null, { companyId, personId }),
    signInWithLink: async (link) => {
      const found = await links.redeem(null, link)
      return found === null ? null : begin([found])
    },
    profilesOf: async (token) => {
      const found = await sessions.find(null, token)
      const current = await Promise.all(
        (found?.memberships ?? []).map(async (one) =>
          ifRoleUnchanged(one, await currentMembership(ports, one)),
        ),
      )
      const still = current.filter((one) => one !== null)
      return Promise.all(still.map((one) => profileOf(ports, one)))
    },
    findMembership: async (companyId, token) => {
      const found = await sessions.find(null, token)
      const one = found?.memberships.find((membership) => membership.companyId === companyId)
      return one === undefined ? null : ifRoleUnchanged(one, await currentMembership(ports, one))
    },
    signOut: (token) => sessions.revoke(null, token),
  }
}

/** Stores which browser requested the newest code of an email; earlier codes are not valid. */
function openNewestRequests({ ttlStore, clock, sealing }: SignInPorts) {
  const records = ttlStore.of<{ readonly browserTag: string }>({
    slice: "sign-in",
    kind: `${PURPOSE} newest code`,
  })
  const tagOf = (browser: string) =>
    sealing.installationTag(JSON.stringify(["newest", PURPOSE, browser]))
  return {
    set: async (email: string, browser: string) => {
      const content = { browserTag: tagOf(browser) }
      const expiresAt = clock.now() + CODE_LIFETIME_MS
      await records.update(NO_COMPANY, emailTagOf(sealing, email), () => ({ content, expiresAt }))
    },
    is: async (emailTag: string, browser: string) =>
      (await records.find(NO_COMPANY, emailTag))?.content.browserTag === tagOf(browser),
  }
}

/** Returns a membership as it is now; null if the person no longer belongs to the company. */
async function currentMembership(
  { runner }: SignInPorts,
  { companyId, personId }: Omit<Membership, "role">,
): Promise<Membership | null> {
  const person = await runner.read(accessStreamOf(companyId), (state) =>
    findPerson(state, personId),
  )
  return person === null ? null : { companyId, personId, role: person.role }
}

/** Returns the current membership if the role is unchanged; a new role requires a new sign-in. */
function ifRoleUnchanged(then: Membership, now: Membership | null): Membership | null {
  return now?.role === then.role ? now : null
}

async function findOrInvitePerson(
  ports: SignInPorts,
  { companyId, emailTag, inviteId }: EmailMembership,
  name: string | null,
): Promise<Omit<Membership, "role"> | null> {
  const find = () =>
    ports.runner.readLatest(accessStreamOf(companyId), (state) => personByEmailTag(state, emailTag))
  const there = await find()
  if (there !== null) return { companyId, personId: there }
  if (inviteId === null) return null
  await acceptInvitation(ports, { companyId, emailTag, inviteId }, name)
  const personId = await find()
  return personId === null ? null : { companyId, personId }
}

/** Reads a profile; erased names are null. */
async function profileOf(
  ports: SignInPorts,
  { companyId, personId, role }: Membership,
): Promise<Profile> {
  const { runner, sealing } = ports
  const company = await runner.read(accessStreamOf(companyId), companyProfileOf)
  const person = await runner.read(accessStreamOf(companyId), (state) =>
    findPerson(state, personId),
  )
  const deletion = await runner.read(ledgerStreamOf(companyId), deletionOf)
  const row = await ports.readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  return {
    companyId,
    personId,
    role,
    permissions: person?.permissions ?? [],
    operations: person === null ? [] : ALL_OPERATIONS.filter((one) => canPerform(person, one)),
    company: company === null ? null : await sealing.unseal(companyId, company.name),
    name: row?.name ?? null,
    email: row?.email ?? null,
    deleteDataAfter: deletion === null ? null : new Date(deletion.erasureStartsAt).toISOString(),
  }
}
