import { describe, expect, it } from "vitest"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import { access, findKey, keysInUse } from "../../domain/access/access.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"
import { fold, given } from "../support/spec.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const opened: AccessEvent = {
  type: "CompanyOpened",
  at: NOW,
  companyId: "co_Ab3dE6",
  name: "s1.company.YWNtZQ",
  plan: "payg",
  pays: "prepaid",
}
const created = (keyId: KeyId): AccessEvent => ({
  type: "KeyCreated",
  at: NOW,
  keyId,
  personId: null,
  keyHash: "ab".repeat(32),
  operations: [],
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

/** Two keys that work, one that is paused and one that is gone. */
const facts = [opened, ...keyIds.map(created), paused("key_p"), deleted("key_d")]
const isOff = [...facts, off("key_a"), off("key_b")]

describe("SwitchKeysOff and SwitchKeysOn", () => {
  it("switch those keys off that work, and on again what was switched off, alone", () => {
    given(access, ...facts)
      .when(switchOff)
      .records(off("key_a"), off("key_b"))
    given(access, ...isOff)
      .when(switchOn)
      .records(on("key_a"), on("key_b"))
    const statuses = (...events: AccessEvent[]) =>
      keyIds.map((keyId) => findKey(fold(access, ...events), keyId)?.status)
    expect(statuses(...isOff)).toEqual(["switched_off", "switched_off", "paused", "deleted"])
    const isOn = [...isOff, on("key_a"), on("key_b")]
    expect(statuses(...isOn)).toEqual(["active", "active", "paused", "deleted"])
  })

  it("record nothing where it is so already", () => {
    given(access, ...isOff)
      .when(switchOff)
      .recordsNothing()
    given(access, ...facts)
      .when(switchOn)
      .recordsNothing()
  })

  it("count the same keys before and after", () => {
    expect(keysInUse(fold(access, ...facts))).toBe(2)
    expect(keysInUse(fold(access, ...isOff))).toBe(2)
  })
})

describe("a key that is switched off", () => {
  it("is not resumed by itself, but can be paused or deleted, and stays so", () => {
    given(access, ...isOff)
      .when({ type: "ResumeKey", at: NOW, keyId: "key_a" })
      .refuses("company_deleted")
    given(access, ...isOff)
      .when({ type: "PauseKey", at: NOW, keyId: "key_a" })
      .records(paused("key_a"))
    given(access, ...isOff, paused("key_a"), deleted("key_b"))
      .when(switchOn)
      .recordsNothing()
  })
})
