/** What a change gives somebody: by the role, by grants, and by denials that end. */
import { describe, expect, it } from "vitest"
import type { AccessChange, AppAccess, Grantable, Role } from "../../domain/access/permissions.ts"
import {
  applyAccessChange,
  grantsGained,
  buildPerson,
  PERMISSIONS,
  permissionsOf,
} from "../../domain/access/permissions.ts"

const ID = "per_1"
const isPermission = (name: string) => PERMISSIONS.some((one) => one === name)
const someone = (role: Role, { grant = [], deny = [] }: Partial<AppAccess> = {}) =>
  buildPerson(ID, role, { grant, deny })

function given(role: Role, has: Partial<AppAccess>, change: AccessChange): readonly Grantable[] {
  const before = someone(role, has)
  // Permissions come first, and operations follow from them.
  return grantsGained(before, applyAccessChange(before, change)).filter(isPermission)
}

describe("what is given", () => {
  it("by a role is what it brings beside what was held, and nothing where it brings less", () => {
    expect(given("user", { grant: ["Use phone"] }, { role: "manager" })).toEqual(
      permissionsOf("manager", []).filter((name) => name !== "Use phone"),
    )
    expect(given("manager", {}, { role: "user" })).toEqual([])
    expect(given("manager", {}, { role: "manager" })).toEqual([])
  })

  it("has the operations of a permission, but those that stay denied", () => {
    const before = someone("user", { deny: ["phone.messages.send"] })
    const names = grantsGained(before, applyAccessChange(before, { grant: ["Use phone"] }))
    expect(names).toContain("phone.messages.read")
    expect(names).not.toContain("phone.messages.send")
  })

  it("is a grant that the role brings already, for it outlasts the role", () => {
    expect(given("manager", {}, { grant: ["Use phone"] })).toEqual(["Use phone"])
    expect(given("manager", {}, { permissions: ["Use phone"] })).toEqual(["Use phone"])
    expect(given("user", { grant: ["Use phone"] }, { grant: ["Use phone"] })).toEqual([])
  })

  it("is a denial that ends, whatever the role brings by now", () => {
    const denied = { deny: ["See billing"] } as const
    expect(given("manager", denied, { clear: ["See billing"] })).toEqual(["See billing"])
    expect(given("user", denied, { clear: ["See billing"] })).toEqual(["See billing"])
    expect(given("manager", denied, { deny: ["Use phone"] })).toEqual([])
  })

  it("is everything that a newcomer may", () => {
    expect(grantsGained(null, someone("developer"))).toContain("Push and upload code")
    expect(grantsGained(null, someone("developer"))).not.toContain("See billing")
  })
})
