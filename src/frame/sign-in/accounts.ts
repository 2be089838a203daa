/**
 * Signing in without naming a company: who owns a mailbox is each person who has its address, in whatever
 * company, and becomes one where that address was invited. A session is of all of them; of each it ends with
 * the person, and once their role is another. Nothing that is answered, nor when, says whether an email is
 * anybody's.
 */
import { findPerson, personByEmailTag, companyStanding } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { Accounts, Membership, Profile } from "../console-ports.ts"
import type { AskedFor, Belonging } from "./sign-in.ts"
import { accept, belongingsOf } from "./sign-in.ts"
import type { AccountPorts } from "./codes.ts"
import { CODE_LASTS_MS, emailTagOf, openCodes, NOBODYS, openTokens } from "./codes.ts"
import { mayPerson, ALL_OPERATIONS } from "../../../domain/access/permissions.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { findPersonRow } from "../../../projections/access/people.ts"

const PURPOSE = "console"
/** A session is over when it was not used for so long. */
export const IDLE_MS = 12 * 3_600_000
/** A session is over in any case so long after the sign-in. */
export const MOST_MS = 30 * 86_400_000
/** So long a link signs somebody in that an operator made. */
export const LINK_LASTS_MS = 10 * 60_000

interface Account {
  readonly memberships: readonly Membership[]
}

/** Opens it. */
export function openAccounts(ports: AccountPorts): Accounts {
  const newest = openNewest(ports)
  const codes = openCodes<AskedFor>(ports, PURPOSE, async (_nowhere, email, browser) => {
    const found = await belongingsOf(ports, email)
    await newest.set(email, browser)
    return found
  })
  const own = { purpose: PURPOSE, knownMs: 0 }
  const sessions = openTokens<Account>(ports, {
    ...own,
    kind: "session",
    lastsMs: IDLE_MS,
    mostMs: MOST_MS,
  })
  const links = openTokens<Omit<Membership, "role">>(ports, {
    ...own,
    kind: "link",
    lastsMs: LINK_LASTS_MS,
  })
  const begin = async (found: readonly Omit<Membership, "role">[]): Promise<string | null> => {
    const looked = await Promise.all(found.map((one) => asTheyAre(ports, one)))
    const memberships = looked.filter((one) => one !== null)
    return memberships.length === 0 ? null : sessions.begin(null, { memberships })
  }
  return {
    ask: (email, address) => codes.ask(null, email, address),
    enter: async (browser, code, name) => {
      const asked = await codes.use(null, browser, code)
      if (asked === null || !(await newest.is(asked.emailTag, browser))) return null
      const people = await Promise.all(asked.at.map((one) => personAt(ports, one, name)))
      return begin(people.filter((one) => one !== null))
    },
    makeLink: (companyId, personId) => links.begin(null, { companyId, personId }),
    follow: async (link) => {
      const found = await links.use(null, link)
      return found === null ? null : begin([found])
    },
    profilesOf: async (token) => {
      const found = await sessions.find(null, token)
      const looked = await Promise.all(
        (found?.memberships ?? []).map(async (one) => unchanged(one, await asTheyAre(ports, one))),
      )
      const still = looked.filter((one) => one !== null)
      return Promise.all(still.map((one) => profileOf(ports, one)))
    },
    whoAt: async (companyId, token) => {
      const found = await sessions.find(null, token)
      const one = found?.memberships.find((membership) => membership.companyId === companyId)
      return one === undefined ? null : unchanged(one, await asTheyAre(ports, one))
    },
    leave: (token) => sessions.end(null, token),
  }
}

/** Which browser asked last for a code for an email: a code of before is of no use any more. */
function openNewest({ kept, clock, sealing }: AccountPorts) {
  const things = kept.of<{ readonly browserTag: string }>({
    slice: "sign-in",
    kind: `${PURPOSE} newest code`,
  })
  const tagOf = (browser: string) =>
    sealing.installationTag(JSON.stringify(["newest", PURPOSE, browser]))
  return {
    set: async (email: string, browser: string) => {
      const content = { browserTag: tagOf(browser) }
      const until = clock.now() + CODE_LASTS_MS
      await things.change(NOBODYS, emailTagOf(sealing, email), () => ({ content, until }))
    },
    is: async (emailTag: string, browser: string) =>
      (await things.find(NOBODYS, emailTag))?.content.browserTag === tagOf(browser),
  }
}

/** Somebody as they are now; null where they are nobody of the company any more. */
async function asTheyAre(
  { runner }: AccountPorts,
  { companyId, personId }: Omit<Membership, "role">,
): Promise<Membership | null> {
  const person = await runner.read(accessOf(companyId), (state) => findPerson(state, personId))
  return person === null ? null : { companyId, personId, role: person.role }
}

/** Whoever is given another role signs in anew. */
function unchanged(then: Membership, now: Membership | null): Membership | null {
  return now?.role === then.role ? now : null
}

/** Whose the address is at a company by now; whoever it invited becomes a person. */
async function personAt(
  ports: AccountPorts,
  { companyId, emailTag, inviteId }: Belonging,
  name: string | null,
): Promise<Omit<Membership, "role"> | null> {
  const find = () =>
    ports.runner.readLatest(accessOf(companyId), (state) => personByEmailTag(state, emailTag))
  const there = await find()
  if (there !== null) return { companyId, personId: there }
  if (inviteId === null) return null
  await accept(ports, { companyId, emailTag, inviteId }, name)
  const personId = await find()
  return personId === null ? null : { companyId, personId }
}

/** Looks it up; names are null once they were erased. */
async function profileOf(
  ports: AccountPorts,
  { companyId, personId, role }: Membership,
): Promise<Profile> {
  const { runner, sealing } = ports
  const standing = await runner.read(accessOf(companyId), companyStanding)
  const person = await runner.read(accessOf(companyId), (state) => findPerson(state, personId))
  const deletion = await runner.read(ledgerOf(companyId), deletionOf)
  const row = await ports.readAs(companyId, (db) => findPersonRow(db, companyId, personId))
  return {
    companyId,
    personId,
    role,
    permissions: person?.permissions ?? [],
    operations: person === null ? [] : ALL_OPERATIONS.filter((one) => mayPerson(person, one)),
    company: standing === null ? null : await sealing.open(companyId, standing.name),
    name: row?.name ?? null,
    email: row?.email ?? null,
    deleteDataAfter: deletion === null ? null : new Date(deletion.erasedFrom).toISOString(),
  }
}
