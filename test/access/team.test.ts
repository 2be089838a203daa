/** Commands on the people of a company and their invitations. */
import { describe, expect, it } from "vitest"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import type { AccessCommand } from "../../domain/access/access.ts"
import { accessDecider, findKey, findPerson } from "../../domain/access/access.ts"
import type { Grantable, Role } from "../../domain/access/permissions.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { NOW, companyOpened } from "./facts.ts"

/** A person by number: `per_1` has the email tag `e1`. */
const added = (n: number, role: Role, ...permissions: "Use phone"[]): AccessEvent => ({
  type: "PersonAdded",
  at: NOW,
  personId: `per_${n}`,
  name: `s1.per_${n}.YQ`,
  email: `s1.per_${n}.Yg`,
  emailTag: `e${n}`,
  role,
  permissions,
})
const owner = added(1, "owner")
const user = added(2, "user", "Use phone")

const change = (
  personId: PersonId,
  changed: Partial<Extract<AccessCommand, { type: "ChangePerson" }>>,
): Extract<AccessCommand, { type: "ChangePerson" }> & DecisionStamp => ({
  type: "ChangePerson",
  at: NOW,
  personId,
  name: null,
  email: null,
  emailTag: null,
  role: null,
  permissions: null,
  ...changed,
})
const changed = (personId: PersonId, fields: object): AccessEvent => ({
  type: "PersonChanged",
  at: NOW,
  personId,
  name: null,
  email: null,
  emailTag: null,
  role: null,
  ...fields,
})

const allow = (
  personId: PersonId,
  lists: { grant?: Grantable[]; deny?: Grantable[]; clear?: Grantable[] },
): Extract<AccessCommand, { type: "ChangeAppAccess" }> & DecisionStamp => ({
  type: "ChangeAppAccess",
  at: NOW,
  personId,
  grant: [],
  deny: [],
  clear: [],
  ...lists,
})
const allowed = (personId: PersonId, grant: Grantable[], deny: Grantable[]): AccessEvent => {
  return { type: "AppAccessSet", at: NOW, personId, grant, deny }
}

const key = (n: number, personId: PersonId | null): AccessEvent => ({
  type: "KeyCreated",
  at: NOW,
  keyId: `key_${n}`,
  personId,
  keyHash: "ab",
  operations: ["team.people.read"],
  label: null,
})

const invite: Extract<AccessCommand, { type: "InvitePerson" }> & DecisionStamp = {
  type: "InvitePerson",
  at: NOW,
  inviteId: "inv_1",
  email: "s1.inv_1.Yg",
  emailTag: "e9",
  role: "developer",
  expiresAt: NOW + 1,
}

describe("ChangePerson", () => {
  it("changes only the given fields", () => {
    const name = "s1.per_2.Yw"
    given(accessDecider, companyOpened, owner, user)
      .when(change("per_2", { name }))
      .records(changed("per_2", { name }))
    const email = { email: "s1.per_2.ZA", emailTag: "e7" } as const
    given(accessDecider, companyOpened, owner, user)
      .when(change("per_2", { ...email, role: "admin" }))
      .records(changed("per_2", { ...email, role: "admin" }))
    const state = foldFacts(
      accessDecider,
      companyOpened,
      owner,
      user,
      changed("per_2", { ...email, role: "admin" }),
    )
    expect(findPerson(state, "per_2")?.role).toBe("admin")
  })

  it("records nothing if nothing changes", () => {
    given(accessDecider, companyOpened, owner, user)
      .when(change("per_2", { role: "user", permissions: ["Use phone"] }))
      .recordsNothing()
  })

  it("sets the granted permissions, and keeps granted operations", () => {
    const before = allowed("per_2", ["Use phone", "email.send"], ["See billing"])
    given(accessDecider, companyOpened, owner, user, before)
      .when(change("per_2", { permissions: ["Team", "See billing"] }))
      .records(allowed("per_2", ["Team", "See billing", "email.send"], []))
    given(accessDecider, companyOpened, owner, user, before)
      .when(change("per_2", { permissions: [] }))
      .records(allowed("per_2", ["email.send"], ["See billing"]))
  })

  it("frees the former email, and takes the new one", () => {
    const moved = changed("per_2", { email: "s1.per_2.ZA", emailTag: "e7" })
    const add = { ...added(3, "user"), type: "AddPerson" } as Extract<
      AccessCommand,
      { type: "AddPerson" }
    > &
      DecisionStamp
    given(accessDecider, companyOpened, owner, user, moved)
      .when({ ...add, emailTag: "e7" })
      .refuses("email_taken")
    given(accessDecider, companyOpened, owner, user, moved)
      .when({ ...add, emailTag: "e2" })
      .records({ ...added(3, "user"), emailTag: "e2" } as AccessEvent)
  })

  it("is rejected for another person's email, and accepts the person's own", () => {
    const email = "s1.per_2.ZA"
    given(accessDecider, companyOpened, owner, user)
      .when(change("per_2", { email, emailTag: "e1" }))
      .refuses("email_taken")
    given(accessDecider, companyOpened, owner, user)
      .when(change("per_2", { email, emailTag: "e2" }))
      .records(changed("per_2", { email, emailTag: "e2" }))
  })

  it("cannot change the role of the last owner", () => {
    given(accessDecider, companyOpened, owner, user)
      .when(change("per_1", { role: "admin" }))
      .refuses("last_owner")
    given(accessDecider, companyOpened, owner, added(3, "owner"))
      .when(change("per_1", { role: "admin" }))
      .records(changed("per_1", { role: "admin" }))
  })

  it("is rejected for an unknown person", () => {
    given(accessDecider, companyOpened, owner)
      .when(change("per_9", { role: "user" }))
      .refuses("no_such_person")
  })
})

describe("ChangeAppAccess", () => {
  it("grants, denies and clears names, in a fixed order", () => {
    given(accessDecider, companyOpened, owner, user)
      .when(allow("per_2", { grant: ["sandbox.start", "email.send", "Team"] }))
      .records(allowed("per_2", ["Team", "Use phone", "email.send", "sandbox.start"], []))
    given(accessDecider, companyOpened, owner, user)
      .when(allow("per_2", { deny: ["Use phone"] }))
      .records(allowed("per_2", [], ["Use phone"]))
    given(accessDecider, companyOpened, owner, user, allowed("per_2", ["Team"], ["email.send"]))
      .when(allow("per_2", { clear: ["Team", "email.send"] }))
      .records(allowed("per_2", [], []))
  })

  it("denies a name that is both granted and denied", () => {
    given(accessDecider, companyOpened, owner, added(2, "user"))
      .when(allow("per_2", { grant: ["Team"], deny: ["Team"] }))
      .records(allowed("per_2", [], ["Team"]))
  })

  it("records nothing if nothing changes", () => {
    given(accessDecider, companyOpened, owner, user)
      .when(allow("per_2", { grant: ["Use phone"], clear: ["Team"] }))
      .recordsNothing()
  })

  it("is rejected for owners and admins, who have every permission", () => {
    for (const role of ["owner", "admin"] as const) {
      given(accessDecider, companyOpened, owner, added(2, role))
        .when(allow("per_2", { deny: ["Team"] }))
        .refuses("nothing_to_grant")
    }
  })

  it("is rejected for an unknown person", () => {
    given(accessDecider, companyOpened, owner)
      .when(allow("per_9", { grant: ["Team"] }))
      .refuses("no_such_person")
  })

  it("is kept while the person is an admin", () => {
    const roles = (["admin", "user"] as const).map((role) => changed("per_2", { role }))
    const state = foldFacts(
      accessDecider,
      companyOpened,
      owner,
      user,
      allowed("per_2", [], ["Use phone"]),
      ...roles,
    )
    expect(findPerson(state, "per_2")).toMatchObject({ role: "user", permissions: [] })
  })
})

describe("RemovePerson", () => {
  const remove = { type: "RemovePerson", at: NOW, personId: "per_2" } as const
  const removed: AccessEvent = { type: "PersonRemoved", at: NOW, personId: "per_2" }
  const deleted = (n: number): AccessEvent => ({ type: "KeyDeleted", at: NOW, keyId: `key_${n}` })

  it("removes a person and deletes their remaining keys", () => {
    const keys = [key(1, "per_2"), key(2, "per_1"), key(3, null), key(4, "per_2"), key(5, "per_2")]
    const paused: AccessEvent = { type: "KeyPaused", at: NOW, keyId: "key_4" }
    const facts = [companyOpened, owner, user, ...keys, paused, deleted(5)]
    given(accessDecider, ...facts)
      .when(remove)
      .records(deleted(1), deleted(4), removed)
    const state = foldFacts(accessDecider, ...facts, deleted(1), deleted(4), removed)
    expect(findPerson(state, "per_2")).toBeNull()
    expect([1, 2, 3].map((n) => findKey(state, `key_${n}`)?.status)).toEqual([
      "deleted",
      "active",
      "active",
    ])
  })

  it("frees the email", () => {
    given(accessDecider, companyOpened, owner, user, removed)
      .when({ ...invite, emailTag: "e2" })
      .records({ ...invite, emailTag: "e2", type: "PersonInvited" })
  })

  it("is rejected for the last owner", () => {
    given(accessDecider, companyOpened, owner, user)
      .when({ ...remove, personId: "per_1" })
      .refuses("last_owner")
    const last: AccessEvent = { ...removed, personId: "per_1" }
    given(accessDecider, companyOpened, owner, added(3, "owner"))
      .when({ ...remove, personId: "per_1" })
      .records(last)
  })

  it("is rejected for an unknown or removed person", () => {
    given(accessDecider, companyOpened, owner).when(remove).refuses("no_such_person")
    given(accessDecider, companyOpened, owner, user, removed).when(remove).refuses("no_such_person")
  })
})

describe("InvitePerson", () => {
  const invited: AccessEvent = { ...invite, type: "PersonInvited" }

  it("invites a person, and renews the invitation", () => {
    given(accessDecider, companyOpened, owner).when(invite).records(invited)
    const again = { ...invite, inviteId: "inv_2", role: "user" } as const
    given(accessDecider, companyOpened, owner, invited)
      .when(again)
      .records({ ...again, type: "PersonInvited" })
  })

  it("is rejected for an email of the company", () => {
    given(accessDecider, companyOpened, owner)
      .when({ ...invite, emailTag: "e1" })
      .refuses("email_taken")
  })
})

describe("WithdrawInvitation", () => {
  const invited: AccessEvent = { ...invite, type: "PersonInvited" }
  const { inviteId, emailTag } = invite
  const withdraw = { type: "WithdrawInvitation", at: NOW, inviteId } as const
  const withdrawn: AccessEvent = { type: "InvitationWithdrawn", at: NOW, inviteId, emailTag }

  it("withdraws an invitation that was not accepted, once", () => {
    given(accessDecider, companyOpened, owner, invited).when(withdraw).records(withdrawn)
    given(accessDecider, companyOpened, owner, invited, withdrawn)
      .when(withdraw)
      .refuses("no_such_invitation")
    given(accessDecider, companyOpened, owner, invited, withdrawn).when(invite).records(invited)
  })

  it("is rejected for an unknown or renewed invitation", () => {
    given(accessDecider, companyOpened, owner).when(withdraw).refuses("no_such_invitation")
    const renewed: AccessEvent = { ...invited, inviteId: "inv_2" }
    given(accessDecider, companyOpened, owner, invited, renewed)
      .when(withdraw)
      .refuses("no_such_invitation")
  })

  it("prevents acceptance", () => {
    given(accessDecider, companyOpened, owner, invited, withdrawn)
      .when({
        type: "AcceptInvitation",
        at: NOW,
        inviteId,
        personId: "per_9",
        emailTag,
        name: "s1.per_9.YQ",
        email: invite.email,
      })
      .refuses("not_invited")
  })
})

describe("AcceptInvitation", () => {
  const invited: AccessEvent = { ...invite, type: "PersonInvited" }
  const { inviteId, email, emailTag, role, expiresAt } = invite
  const accept: Extract<AccessCommand, { type: "AcceptInvitation" }> & DecisionStamp = {
    type: "AcceptInvitation",
    at: NOW,
    inviteId,
    personId: "per_9",
    name: "s1.per_9.YQ",
    email,
    emailTag,
  }
  const accepted: AccessEvent = {
    type: "PersonAdded",
    at: NOW,
    personId: "per_9",
    name: "s1.per_9.YQ",
    email,
    emailTag,
    role,
    permissions: [],
  }

  it("adds a person with the offered role, once", () => {
    given(accessDecider, companyOpened, owner, invited).when(accept).records(accepted)
    given(accessDecider, companyOpened, owner, invited, accepted).when(accept).recordsNothing()
  })

  it("is rejected if the invitation has expired, was renewed or does not exist", () => {
    given(accessDecider, companyOpened, owner, invited)
      .when({ ...accept, at: expiresAt })
      .refuses("not_invited")
    const renewed: AccessEvent = { ...invited, inviteId: "inv_2" }
    given(accessDecider, companyOpened, owner, invited, renewed).when(accept).refuses("not_invited")
    given(accessDecider, companyOpened, owner).when(accept).refuses("not_invited")
  })

  it("is rejected for an email that a person has or had since", () => {
    given(accessDecider, companyOpened, owner, invited)
      .when({ ...accept, emailTag: "e1" })
      .refuses("email_taken")
    const removed: AccessEvent = { type: "PersonRemoved", at: NOW, personId: "per_9" }
    given(accessDecider, companyOpened, owner, invited, accepted, removed)
      .when(accept)
      .refuses("not_invited")
    const moved = changed("per_1", { emailTag, email })
    given(
      accessDecider,
      companyOpened,
      owner,
      invited,
      moved,
      changed("per_1", { emailTag: "e1", email }),
    )
      .when(accept)
      .refuses("not_invited")
  })
})

it("every command is rejected before the company is open", () => {
  const remove = { type: "RemovePerson", at: NOW, personId: "per_1" } as const
  for (const command of [change("per_1", {}), allow("per_1", {}), remove, invite]) {
    given(accessDecider).when(command).refuses("no_such_company")
  }
})
