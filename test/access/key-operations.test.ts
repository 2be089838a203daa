import { describe, expect, it } from "vitest"
import { access, findKey } from "../../domain/access/access.ts"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import { fold, given } from "../support/spec.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const keyId = "key_Ab3dE6gH"
const opened: AccessEvent = {
  type: "CompanyOpened",
  at: NOW,
  companyId: "co_Ab3dE6",
  name: "s1.co_Ab3dE6.YWNtZQ",
  plan: "payg",
  pays: "prepaid",
}
const created: AccessEvent = {
  type: "KeyCreated",
  at: NOW,
  keyId,
  personId: null,
  keyHash: "ab12",
  operations: ["phone.messages.send"],
  label: null,
}
const paused: AccessEvent = { type: "KeyPaused", at: NOW, keyId }
const deleted: AccessEvent = { type: "KeyDeleted", at: NOW, keyId }
const withKey = [opened, created]

describe("ChangeKeyOperations", () => {
  const operations = ["team.people.read", "phone.messages.read"] as const
  const change = { type: "ChangeKeyOperations", at: NOW, keyId, operations } as const
  const changed: AccessEvent = { ...change, type: "KeyOperationsChanged" }

  it("lets a key do these instead of what it might before, paused or not", () => {
    given(access, ...withKey)
      .when(change)
      .records(changed)
    given(access, ...withKey, paused)
      .when(change)
      .records(changed)
    const found = findKey(fold(access, ...withKey, paused, changed), keyId)
    expect(found).toMatchObject({ status: "paused", operations: new Set(operations) })
  })

  it("names an operation once that was said twice", () => {
    given(access, ...withKey)
      .when({ ...change, operations: [...operations, ...operations] })
      .records(changed)
  })

  it("takes away all of them", () => {
    given(access, ...withKey)
      .when({ ...change, operations: [] })
      .records({ ...changed, operations: [] } as AccessEvent)
  })

  it("records nothing where it may the same already, in whatever order", () => {
    given(access, ...withKey, changed)
      .when({ ...change, operations: operations.toReversed() })
      .recordsNothing()
  })

  it("is refused for a key that is not there, or is deleted", () => {
    given(access, opened).when(change).refuses("no_such_key")
    given(access, ...withKey, deleted)
      .when(change)
      .refuses("no_such_key")
  })
})
