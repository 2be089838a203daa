import { accessOf } from "../../domain/access/aggregates.ts"
import { serialize } from "node:v8"
import { describe, expect, it } from "vitest"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import type { AddPerson } from "../../domain/access/team.ts"
import {
  type CreateKey,
  access,
  accessBytes,
  companyStanding,
  findKey,
  findPerson,
  isManaged,
} from "../../domain/access/access.ts"
import { ALL_OPERATIONS } from "../../domain/access/permissions.ts"
import { fold, given } from "../support/spec.ts"
import { COMPANY, NOW, opened } from "./facts.ts"

const open = { type: "OpenCompany", at: NOW, ...COMPANY } as const

const person = {
  personId: "per_1",
  name: "s1.per_1.YQ",
  email: "s1.per_1.Yg",
  emailTag: "e1",
  role: "user",
  permissions: ["Use phone"],
} as const
const addPerson = (changed: Partial<AddPerson> = {}): AddPerson & Stamp => ({
  type: "AddPerson",
  at: NOW,
  ...person,
  ...changed,
})
const personAdded: AccessEvent = { type: "PersonAdded", at: NOW, ...person }

const key = {
  keyId: "key_Ab3dE6gH",
  personId: "per_1",
  keyHash: "ab12",
  operations: ["phone.messages.send"],
  label: null,
} as const
const createKey = (changed: Partial<CreateKey> = {}): CreateKey & Stamp => ({
  type: "CreateKey",
  at: NOW,
  ...key,
  ...changed,
})
const keyCreated: AccessEvent = { type: "KeyCreated", at: NOW, ...key }
const { keyId } = key
const ofKey = (type: "KeyPaused" | "KeyResumed" | "KeyDeleted"): AccessEvent => {
  return { type, at: NOW, keyId }
}
const withKey = [opened, personAdded, keyCreated]

describe("OpenCompany", () => {
  it("begins a company's access", () => {
    given(access).when(open).records(opened)
  })

  it("records nothing for a company that is open", () => {
    given(access, opened)
      .when({ ...open, plan: "79" })
      .recordsNothing()
  })
})

describe("before a company is open", () => {
  it.each([
    addPerson(),
    createKey(),
    { type: "PauseKey", at: NOW, keyId } as const,
    { type: "SetCard", at: NOW, verified: true, failing: false } as const,
    { type: "RemoveCard", at: NOW } as const,
  ])("$type is refused", (command) => {
    given(access).when(command).refuses("no_such_company")
  })
})

describe("AddPerson", () => {
  it("adds somebody", () => {
    given(access, opened).when(addPerson()).records(personAdded)
  })

  it("records nothing for somebody who is there", () => {
    given(access, opened, personAdded)
      .when(addPerson({ role: "owner" }))
      .recordsNothing()
  })

  it("is refused an email that somebody in the company has", () => {
    given(access, opened, personAdded)
      .when(addPerson({ personId: "per_2" }))
      .refuses("email_taken")
  })
})

describe("CreateKey", () => {
  it("makes a key for a person, or a shared one", () => {
    given(access, opened, personAdded).when(createKey()).records(keyCreated)
    given(access, opened)
      .when(createKey({ personId: null }))
      .records({ ...keyCreated, personId: null })
  })

  it("records nothing for a key that is there, whatever became of it", () => {
    given(access, ...withKey)
      .when(createKey())
      .recordsNothing()
    given(access, ...withKey, ofKey("KeyDeleted"))
      .when(createKey())
      .recordsNothing()
  })

  it("is refused an id that names another key", () => {
    given(access, ...withKey)
      .when(createKey({ keyHash: "cd34" }))
      .refuses("key_taken")
  })

  it("is refused for somebody who is not there", () => {
    given(access, opened).when(createKey()).refuses("no_such_person")
  })
})

describe("PauseKey, ResumeKey and DeleteKey", () => {
  const pause = { type: "PauseKey", at: NOW, keyId } as const
  const resume = { type: "ResumeKey", at: NOW, keyId } as const
  const remove = { type: "DeleteKey", at: NOW, keyId } as const

  it("stop a key, let it work again, and end it", () => {
    given(access, ...withKey)
      .when(pause)
      .records(ofKey("KeyPaused"))
    given(access, ...withKey, ofKey("KeyPaused"))
      .when(resume)
      .records(ofKey("KeyResumed"))
    given(access, ...withKey, ofKey("KeyPaused"))
      .when(remove)
      .records(ofKey("KeyDeleted"))
    const states = ["KeyPaused", "KeyResumed", "KeyDeleted"] as const
    expect(
      states.map((type) => findKey(fold(access, ...withKey, ofKey(type)), keyId)?.status),
    ).toEqual(["paused", "active", "deleted"])
  })

  it("record nothing where it is so already", () => {
    given(access, ...withKey, ofKey("KeyPaused"))
      .when(pause)
      .recordsNothing()
    given(access, ...withKey)
      .when(resume)
      .recordsNothing()
    given(access, ...withKey, ofKey("KeyDeleted"))
      .when(remove)
      .recordsNothing()
  })

  it("are refused for a key that is not there", () => {
    for (const command of [pause, resume, remove]) {
      given(access, opened).when(command).refuses("no_such_key")
    }
  })

  it("cannot bring a deleted key back", () => {
    given(access, ...withKey, ofKey("KeyDeleted"))
      .when(resume)
      .refuses("no_such_key")
    given(access, ...withKey, ofKey("KeyDeleted"))
      .when(pause)
      .refuses("no_such_key")
  })
})

describe("ChangePlan", () => {
  it("changes the plan and how the company pays", () => {
    const change = { type: "ChangePlan", at: NOW, plan: "79", pays: "card" } as const
    const changed: AccessEvent = { ...change, type: "PlanChanged" }
    given(access, opened).when(change).records(changed)
    given(access, opened, changed).when(change).recordsNothing()
    given(access, opened, changed)
      .when({ ...change, pays: "prepaid" })
      .records({ ...changed, pays: "prepaid" })
    given(access).when(change).refuses("no_such_company")
    const { plan, pays } = companyStanding(fold(access, opened, changed)) ?? {}
    expect({ plan, pays }).toEqual({ plan: "79", pays: "card" })
  })
})

describe("SetCard and RemoveCard", () => {
  const set = { type: "SetCard", at: NOW, verified: true, failing: false } as const
  const cardSet: AccessEvent = { ...set, type: "CardSet" }
  const cardRemoved: AccessEvent = { type: "CardRemoved", at: NOW }

  it("put a card on file, change how it stands, and take it off", () => {
    given(access, opened).when(set).records(cardSet)
    given(access, opened, cardSet)
      .when({ ...set, failing: true })
      .records({ ...cardSet, failing: true })
    given(access, opened, cardSet).when({ type: "RemoveCard", at: NOW }).records(cardRemoved)
  })

  it("record nothing where it is so already", () => {
    given(access, opened, cardSet).when(set).recordsNothing()
    given(access, opened).when({ type: "RemoveCard", at: NOW }).recordsNothing()
    given(access, opened, cardSet, cardRemoved)
      .when({ type: "RemoveCard", at: NOW })
      .recordsNothing()
  })

  it("say whether calling, texting, email and hosting are open", () => {
    const managed = (...facts: readonly AccessEvent[]) => {
      const standing = companyStanding(fold(access, opened, ...facts))
      return standing !== null && isManaged(standing)
    }
    expect([
      managed(),
      managed(cardSet),
      managed({ ...cardSet, failing: true }),
      managed(cardSet, cardRemoved),
    ]).toEqual([false, true, false, false])
  })
})

describe("ChangeChannel and JoinAffiliate", () => {
  it("record what is new, once", () => {
    const change = { type: "ChangeChannel", at: NOW, channel: "beta" } as const
    const changed: AccessEvent = { ...change, type: "ChannelChanged" }
    given(access, opened).when(change).records(changed)
    given(access, opened, changed).when(change).recordsNothing()
    given(access, opened)
      .when({ ...change, channel: "stable" })
      .recordsNothing()
    const join = { type: "JoinAffiliate", at: NOW, tag: "Q7dX" } as const
    const joined: AccessEvent = { ...join, type: "AffiliateJoined" }
    given(access, opened).when(join).records(joined)
    given(access, opened, joined)
      .when({ ...join, tag: "other" })
      .recordsNothing()
    expect(companyStanding(fold(access, opened, changed, joined))).toMatchObject({
      channel: "beta",
      affiliateTag: "Q7dX",
    })
    for (const command of [change, join]) given(access).when(command).refuses("no_such_company")
  })
})

describe("a company's access", () => {
  it("is found by its people and keys", () => {
    const state = fold(access, ...withKey)
    expect(companyStanding(state)).toEqual({
      ...COMPANY,
      card: null,
      channel: "stable",
      affiliateTag: null,
    })
    expect(findPerson(state, "per_1")).toEqual({
      personId: "per_1",
      role: "user",
      app: { grant: ["Use phone"], deny: [] },
      permissions: ["Use phone"],
    })
    expect(findKey(state, keyId)).toMatchObject({ personId: "per_1", status: "active" })
    expect(findKey(state, keyId)?.operations).toEqual(new Set(["phone.messages.send"]))
    expect([findPerson(state, "per_2"), findKey(state, "key_other123")]).toEqual([null, null])
    expect(companyStanding(fold(access))).toBeNull()
    expect(accessOf("co_1").stream).toBe("access-co_1")
  })
})

it("says what it takes in memory by its people and keys", () => {
  const people = Array.from({ length: 1_000 }, (_, i): AccessEvent => {
    return { ...personAdded, personId: `per_${i}`, emailTag: `e${i}` }
  })
  const keys = Array.from({ length: 1_000 }, (_, i): AccessEvent => {
    return { ...keyCreated, keyId: `key_${i}`, operations: ALL_OPERATIONS }
  })
  for (const facts of [people, keys]) {
    const state = fold(access, opened, ...facts)
    const written = serialize(state).length
    expect(accessBytes(state)).toBeGreaterThan(written / 2)
    expect(accessBytes(state)).toBeLessThan(written * 6)
  }
})
