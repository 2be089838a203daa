/** Whoever was invited becomes a person of the company. */
import { describe, it } from "vitest"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import type { AccessCommand } from "../../domain/access/access.ts"
import { access } from "../../domain/access/access.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { given } from "../support/spec.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")

const opened: AccessEvent = {
  type: "CompanyOpened",
  at: NOW,
  companyId: "co_Ab3dE6",
  name: "s1.company.YWNtZQ",
  plan: "payg",
  pays: "prepaid",
}
const owner: AccessEvent = {
  type: "PersonAdded",
  at: NOW,
  personId: "per_1",
  name: "s1.per_1.YQ",
  email: "s1.per_1.Yg",
  emailTag: "e1",
  role: "owner",
  permissions: [],
}
const changed = (personId: "per_1", fields: object): AccessEvent => ({
  type: "PersonChanged",
  at: NOW,
  personId,
  name: null,
  email: null,
  emailTag: null,
  role: null,
  ...fields,
})
const invite: Extract<AccessCommand, { type: "InvitePerson" }> & Stamp = {
  type: "InvitePerson",
  at: NOW,
  inviteId: "inv_1",
  email: "s1.inv_1.Yg",
  emailTag: "e9",
  role: "developer",
  expiresAt: NOW + 1,
}

describe("AcceptInvitation", () => {
  const invited: AccessEvent = { ...invite, type: "PersonInvited" }
  const { inviteId, email, emailTag, role, expiresAt } = invite
  const accept: Extract<AccessCommand, { type: "AcceptInvitation" }> & Stamp = {
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

  it("makes a person of the role that was offered, once", () => {
    given(access, opened, owner, invited).when(accept).records(accepted)
    given(access, opened, owner, invited, accepted).when(accept).recordsNothing()
  })

  it("is refused where it is over, was made anew, or nobody invited this email", () => {
    given(access, opened, owner, invited)
      .when({ ...accept, at: expiresAt })
      .refuses("not_invited")
    const anew: AccessEvent = { ...invited, inviteId: "inv_2" }
    given(access, opened, owner, invited, anew).when(accept).refuses("not_invited")
    given(access, opened, owner).when(accept).refuses("not_invited")
  })

  it("is refused for an email that somebody has by now, and of no use once they are gone", () => {
    given(access, opened, owner, invited)
      .when({ ...accept, emailTag: "e1" })
      .refuses("email_taken")
    const removed: AccessEvent = { type: "PersonRemoved", at: NOW, personId: "per_9" }
    given(access, opened, owner, invited, accepted, removed).when(accept).refuses("not_invited")
    const moved = changed("per_1", { emailTag, email })
    given(access, opened, owner, invited, moved, changed("per_1", { emailTag: "e1", email }))
      .when(accept)
      .refuses("not_invited")
  })
})
