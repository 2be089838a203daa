/** What a person gains by a change: by role, by grants and by cleared denials. */
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
const personWith = (role: Role, { grant = [], deny = [] }: Partial<AppAccess> = {}) =>
  buildPerson(ID, role, { grant, deny })

function permissionsGained(
  role: Role,
  access: Partial<AppAccess>,
  change: AccessChange,
): readonly Grantable[] {
  const before = personWith(role, access)
  // Gained operations follow from permissions.
  return grantsGained(before, applyAccessChange(before, change)).filter(isPermission)
}

describe("what a person gains", () => {
  it("by another role is what the person did not have, and nothing if the role has less", () => {
    expect(permissionsGained("user", { grant: ["Use phone"] }, { role: "manager" })).toEqual(
      permissionsOf("manager", []).filter((name) => name !== "Use phone"),
    )
    expect(permissionsGained("manager", {}, { role: "user" })).toEqual([])
    expect(permissionsGained("manager", {}, { role: "manager" })).toEqual([])
  })

  it("includes the operations of a permission that are not denied", () => {
    const before = personWith("user", { deny: ["phone.messages.send"] })
    const names = grantsGained(before, applyAccessChange(before, { grant: ["Use phone"] }))
    expect(names).toContain("phone.messages.read")
    expect(names).not.toContain("phone.messages.send")
  })

  it("includes a grant that the role has, because it outlasts the role", () => {
    expect(permissionsGained("manager", {}, { grant: ["Use phone"] })).toEqual(["Use phone"])
    expect(permissionsGained("manager", {}, { permissions: ["Use phone"] })).toEqual(["Use phone"])
    expect(permissionsGained("user", { grant: ["Use phone"] }, { grant: ["Use phone"] })).toEqual(
      [],
    )
  })

  it("includes a cleared denial, regardless of the role", () => {
    const denied = { deny: ["See billing"] } as const
    expect(permissionsGained("manager", denied, { clear: ["See billing"] })).toEqual([
      "See billing",
    ])
    expect(permissionsGained("user", denied, { clear: ["See billing"] })).toEqual(["See billing"])
    expect(permissionsGained("manager", denied, { deny: ["Use phone"] })).toEqual([])
  })

  it("is every permission of a new person", () => {
    expect(grantsGained(null, personWith("developer"))).toContain("Push and upload code")
    expect(grantsGained(null, personWith("developer"))).not.toContain("See billing")
  })
})
