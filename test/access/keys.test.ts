/** Changing the operations of keys, and switching keys off and on with their company. */
import { describe, expect, it } from "vitest"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import { accessDecider, findKey, countUsableKeys } from "../../domain/access/access.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { NOW, companyOpened } from "./facts.ts"

const created = (keyId: KeyId): AccessEvent => ({
  type: "KeyCreated",
  at: NOW,
  keyId,
  personId: null,
  keyHash: "ab".repeat(32),
  operations: ["phone.messages.send"],
  label: null,
})
type AboutKey = Extract<AccessEvent, { type: "KeyPaused" }>["keyId"]
const of = (type: "KeyPaused" | "KeyDeleted" | "KeySwitchedOff" | "KeySwitchedOn") => {
  return (keyId: AboutKey): AccessEvent => ({ type, at: NOW, keyId })
}
const [paused, deleted] = [of("KeyPaused"), of("KeyDeleted")]
const [off, on] = [of("KeySwitchedOff"), of("KeySwitchedOn")]
const keyIds = ["key_a", "key_b", "key_p", "key_d"] as const
const switchOff = { type: "SwitchKeysOff", at: NOW } as const
const switchOn = { type: "SwitchKeysOn", at: NOW } as const

/** Two active keys, a paused one and a deleted one. */
const facts = [companyOpened, ...keyIds.map(created), paused("key_p"), deleted("key_d")]
const isOff = [...facts, off("key_a"), off("key_b")]

describe("SwitchKeysOff and SwitchKeysOn", () => {
  it("switch off the active keys, and switch on only those again", () => {
    given(accessDecider, ...facts)
      .when(switchOff)
      .records(off("key_a"), off("key_b"))
    given(accessDecider, ...isOff)
      .when(switchOn)
      .records(on("key_a"), on("key_b"))
    const statuses = (...events: AccessEvent[]) =>
      keyIds.map((keyId) => findKey(foldFacts(accessDecider, ...events), keyId)?.status)
    expect(statuses(...isOff)).toEqual(["switched_off", "switched_off", "paused", "deleted"])
    const isOn = [...isOff, on("key_a"), on("key_b")]
    expect(statuses(...isOn)).toEqual(["active", "active", "paused", "deleted"])
  })

  it("record nothing if nothing changes", () => {
    given(accessDecider, ...isOff)
      .when(switchOff)
      .recordsNothing()
    given(accessDecider, ...facts)
      .when(switchOn)
      .recordsNothing()
  })

  it("count the same keys before and after", () => {
    expect(countUsableKeys(foldFacts(accessDecider, ...facts))).toBe(2)
    expect(countUsableKeys(foldFacts(accessDecider, ...isOff))).toBe(2)
  })
})

describe("a switched-off key", () => {
  it("cannot be resumed, and stays paused or deleted if it is paused or deleted", () => {
    given(accessDecider, ...isOff)
      .when({ type: "ResumeKey", at: NOW, keyId: "key_a" })
      .refuses("company_deleted")
    given(accessDecider, ...isOff)
      .when({ type: "PauseKey", at: NOW, keyId: "key_a" })
      .records(paused("key_a"))
    given(accessDecider, ...isOff, paused("key_a"), deleted("key_b"))
      .when(switchOn)
      .recordsNothing()
  })
})

describe("ChangeKeyOperations", () => {
  const keyId = "key_a"
  const withKey = [companyOpened, created(keyId)]
  const operations = ["team.people.read", "phone.messages.read"] as const
  const change = { type: "ChangeKeyOperations", at: NOW, keyId, operations } as const
  const changed: AccessEvent = { ...change, type: "KeyOperationsChanged" }

  it("replaces the operations of a key, paused or not", () => {
    given(accessDecider, ...withKey)
      .when(change)
      .records(changed)
    given(accessDecider, ...withKey, paused(keyId))
      .when(change)
      .records(changed)
    const found = findKey(foldFacts(accessDecider, ...withKey, paused(keyId), changed), keyId)
    expect(found).toMatchObject({ status: "paused", operations: new Set(operations) })
  })

  it("records a repeated operation once", () => {
    given(accessDecider, ...withKey)
      .when({ ...change, operations: [...operations, ...operations] })
      .records(changed)
  })

  it("can remove all operations", () => {
    given(accessDecider, ...withKey)
      .when({ ...change, operations: [] })
      .records({ ...changed, operations: [] })
  })

  it("records nothing for the same operations in any order", () => {
    given(accessDecider, ...withKey, changed)
      .when({ ...change, operations: operations.toReversed() })
      .recordsNothing()
  })

  it("is rejected for an unknown or deleted key", () => {
    given(accessDecider, companyOpened).when(change).refuses("no_such_key")
    given(accessDecider, ...withKey, deleted(keyId))
      .when(change)
      .refuses("no_such_key")
  })
})
