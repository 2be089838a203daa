import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { serialize } from "node:v8"
import { describe, expect, it } from "vitest"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import type { AddPerson } from "../../domain/access/team.ts"
import {
  type CreateKey,
  accessDecider,
  accessBytes,
  companyProfileOf,
  findKey,
  findPerson,
  isOnManagedPlan,
} from "../../domain/access/access.ts"
import { ALL_OPERATIONS } from "../../domain/access/permissions.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { COMPANY, NOW, companyOpened } from "./facts.ts"

const open = { type: "OpenCompany", at: NOW, ...COMPANY } as const

const person = {
  personId: "per_1",
  name: "s1.per_1.YQ",
  email: "s1.per_1.Yg",
  emailTag: "e1",
  role: "user",
  permissions: ["Use phone"],
} as const
const addPerson = (changed: Partial<AddPerson> = {}): AddPerson & DecisionStamp => ({
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
const createKey = (changed: Partial<CreateKey> = {}): CreateKey & DecisionStamp => ({
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
const withKey = [companyOpened, personAdded, keyCreated]

describe("OpenCompany", () => {
  it("opens a company's access", () => {
    given(accessDecider).when(open).records(companyOpened)
  })

  it("records nothing for an open company", () => {
    given(accessDecider, companyOpened)
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
  ])("$type is rejected", (command) => {
    given(accessDecider).when(command).refuses("no_such_company")
  })
})

describe("AddPerson", () => {
  it("adds a person", () => {
    given(accessDecider, companyOpened).when(addPerson()).records(personAdded)
  })

  it("records nothing for an existing person", () => {
    given(accessDecider, companyOpened, personAdded)
      .when(addPerson({ role: "owner" }))
      .recordsNothing()
  })

  it("is rejected for an email that another person of the company has", () => {
    given(accessDecider, companyOpened, personAdded)
      .when(addPerson({ personId: "per_2" }))
      .refuses("email_taken")
  })
})

describe("CreateKey", () => {
  it("creates a key for a person, or an app key", () => {
    given(accessDecider, companyOpened, personAdded).when(createKey()).records(keyCreated)
    given(accessDecider, companyOpened)
      .when(createKey({ personId: null }))
      .records({ ...keyCreated, personId: null })
  })

  it("records nothing for an existing key, even for a deleted one", () => {
    given(accessDecider, ...withKey)
      .when(createKey())
      .recordsNothing()
    given(accessDecider, ...withKey, ofKey("KeyDeleted"))
      .when(createKey())
      .recordsNothing()
  })

  it("is rejected for the id of another key", () => {
    given(accessDecider, ...withKey)
      .when(createKey({ keyHash: "cd34" }))
      .refuses("key_taken")
  })

  it("is rejected for an unknown person", () => {
    given(accessDecider, companyOpened).when(createKey()).refuses("no_such_person")
  })
})

describe("PauseKey, ResumeKey and DeleteKey", () => {
  const pause = { type: "PauseKey", at: NOW, keyId } as const
  const resume = { type: "ResumeKey", at: NOW, keyId } as const
  const remove = { type: "DeleteKey", at: NOW, keyId } as const

  it("pause, resume and delete a key", () => {
    given(accessDecider, ...withKey)
      .when(pause)
      .records(ofKey("KeyPaused"))
    given(accessDecider, ...withKey, ofKey("KeyPaused"))
      .when(resume)
      .records(ofKey("KeyResumed"))
    given(accessDecider, ...withKey, ofKey("KeyPaused"))
      .when(remove)
      .records(ofKey("KeyDeleted"))
    const states = ["KeyPaused", "KeyResumed", "KeyDeleted"] as const
    expect(
      states.map(
        (type) => findKey(foldFacts(accessDecider, ...withKey, ofKey(type)), keyId)?.status,
      ),
    ).toEqual(["paused", "active", "deleted"])
  })

  it("record nothing if nothing changes", () => {
    given(accessDecider, ...withKey, ofKey("KeyPaused"))
      .when(pause)
      .recordsNothing()
    given(accessDecider, ...withKey)
      .when(resume)
      .recordsNothing()
    given(accessDecider, ...withKey, ofKey("KeyDeleted"))
      .when(remove)
      .recordsNothing()
  })

  it("are rejected for an unknown key", () => {
    for (const command of [pause, resume, remove]) {
      given(accessDecider, companyOpened).when(command).refuses("no_such_key")
    }
  })

  it("cannot restore a deleted key", () => {
    given(accessDecider, ...withKey, ofKey("KeyDeleted"))
      .when(resume)
      .refuses("no_such_key")
    given(accessDecider, ...withKey, ofKey("KeyDeleted"))
      .when(pause)
      .refuses("no_such_key")
  })
})

describe("ChangePlan", () => {
  it("changes the plan and how the company pays", () => {
    const change = { type: "ChangePlan", at: NOW, plan: "79", pays: "card" } as const
    const changed: AccessEvent = { ...change, type: "PlanChanged" }
    given(accessDecider, companyOpened).when(change).records(changed)
    given(accessDecider, companyOpened, changed).when(change).recordsNothing()
    given(accessDecider, companyOpened, changed)
      .when({ ...change, pays: "prepaid" })
      .records({ ...changed, pays: "prepaid" })
    given(accessDecider).when(change).refuses("no_such_company")
    const { plan, pays } = companyProfileOf(foldFacts(accessDecider, companyOpened, changed)) ?? {}
    expect({ plan, pays }).toEqual({ plan: "79", pays: "card" })
  })
})

describe("SetCard and RemoveCard", () => {
  const set = { type: "SetCard", at: NOW, verified: true, failing: false } as const
  const cardSet: AccessEvent = { ...set, type: "CardSet" }
  const cardRemoved: AccessEvent = { type: "CardRemoved", at: NOW }

  it("add, change and remove a card", () => {
    given(accessDecider, companyOpened).when(set).records(cardSet)
    given(accessDecider, companyOpened, cardSet)
      .when({ ...set, failing: true })
      .records({ ...cardSet, failing: true })
    given(accessDecider, companyOpened, cardSet)
      .when({ type: "RemoveCard", at: NOW })
      .records(cardRemoved)
  })

  it("record nothing if nothing changes", () => {
    given(accessDecider, companyOpened, cardSet).when(set).recordsNothing()
    given(accessDecider, companyOpened).when({ type: "RemoveCard", at: NOW }).recordsNothing()
    given(accessDecider, companyOpened, cardSet, cardRemoved)
      .when({ type: "RemoveCard", at: NOW })
      .recordsNothing()
  })

  it("decide whether calling, texting, email and hosting are available", () => {
    const managed = (...facts: readonly AccessEvent[]) => {
      const profile = companyProfileOf(foldFacts(accessDecider, companyOpened, ...facts))
      return profile !== null && isOnManagedPlan(profile)
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
  it("record a change once", () => {
    const change = { type: "ChangeChannel", at: NOW, channel: "beta" } as const
    const changed: AccessEvent = { ...change, type: "ChannelChanged" }
    given(accessDecider, companyOpened).when(change).records(changed)
    given(accessDecider, companyOpened, changed).when(change).recordsNothing()
    given(accessDecider, companyOpened)
      .when({ ...change, channel: "stable" })
      .recordsNothing()
    const join = { type: "JoinAffiliateProgram", at: NOW, tag: "Q7dX" } as const
    const joined: AccessEvent = { ...join, type: "AffiliateJoined" }
    given(accessDecider, companyOpened).when(join).records(joined)
    given(accessDecider, companyOpened, joined)
      .when({ ...join, tag: "other" })
      .recordsNothing()
    expect(
      companyProfileOf(foldFacts(accessDecider, companyOpened, changed, joined)),
    ).toMatchObject({
      channel: "beta",
      affiliateTag: "Q7dX",
    })
    for (const command of [change, join])
      given(accessDecider).when(command).refuses("no_such_company")
  })
})

describe("a company's access", () => {
  it("has its profile, people and keys", () => {
    const state = foldFacts(accessDecider, ...withKey)
    expect(companyProfileOf(state)).toEqual({
      ...COMPANY,
      card: null,
      channel: "stable",
      affiliateTag: null,
    })
    expect(findPerson(state, "per_1")).toEqual({
      personId: "per_1",
      role: "user",
      appAccess: { grant: ["Use phone"], deny: [] },
      permissions: ["Use phone"],
    })
    expect(findKey(state, keyId)).toMatchObject({ personId: "per_1", status: "active" })
    expect(findKey(state, keyId)?.operations).toEqual(new Set(["phone.messages.send"]))
    expect([findPerson(state, "per_2"), findKey(state, "key_other123")]).toEqual([null, null])
    expect(companyProfileOf(foldFacts(accessDecider))).toBeNull()
    expect(accessStreamOf("co_1").stream).toBe("access-co_1")
  })
})

it("accessBytes estimates the memory of people and keys", () => {
  const people = Array.from({ length: 1_000 }, (_, i): AccessEvent => {
    return { ...personAdded, personId: `per_${i}`, emailTag: `e${i}` }
  })
  const keys = Array.from({ length: 1_000 }, (_, i): AccessEvent => {
    return { ...keyCreated, keyId: `key_${i}`, operations: ALL_OPERATIONS }
  })
  for (const facts of [people, keys]) {
    const state = foldFacts(accessDecider, companyOpened, ...facts)
    const written = serialize(state).length
    expect(accessBytes(state)).toBeGreaterThan(written / 2)
    expect(accessBytes(state)).toBeLessThan(written * 6)
  }
})
