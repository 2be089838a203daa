import { describe, expect, it } from "vitest"
import type { Grantable, Role } from "../../domain/access/permissions.ts"
import {
  GRANTABLE,
  grantFault,
  canPerform,
  buildPerson,
  ALL_OPERATIONS,
  OPERATIONS_WITHOUT_ROUTE,
  isOperation,
  PERMISSIONS,
  ROLES,
  permissionsOf,
} from "../../domain/access/permissions.ts"

/**
 * The operations of each role: owner, admin, developer, manager, user. `x` is allowed, `.` is not.
 * A key must have the operation in addition.
 */
const MATRIX = `
  account.affiliate.read       x x . x .
  account.balance.read         x x . x .
  account.company.delete       x . . . .
  billing.read                 x x . x .
  code.publish.preview         x x x . .
  code.publish.read            x x x x x
  code.pull                    x x x . .
  code.push                    x x x . .
  connection.account.read      x x x x x
  connection.checkin           x x x x x
  connection.devices.report    x x x x x
  connection.updates.read      x x x x x
  crm.leads.collect            x x . x .
  crm.leads.read               x x . x .
  dns.check                    x x . x .
  dns.domains.attach           x x . x .
  dns.read                     x x . x .
  dns.records.write            x x . x .
  email.domains.add            x x . x .
  email.domains.check          x x . x .
  email.domains.read           x x . x .
  email.send                   x x . x .
  hosting.appAddress.write     x x . x .
  ledger.read                  x x . x .
  lookup.address.details       x x x x .
  lookup.address.suggest       x x x x .
  phone.calls.read             x x . x .
  phone.destinations.read      x x . x .
  phone.destinations.write     x x . x .
  phone.messages.read          x x . x .
  phone.messages.send          x x . x .
  phone.numbers.buy            x x . x .
  phone.numbers.release        x x . x .
  phone.numbers.search         x x . x .
  phone.optouts.add            x x . x .
  phone.optouts.remove         x x . x .
  phone.overview.read          x x . x .
  phone.recordings.delete      x x . x .
  phone.recordings.keep        x x . x .
  phone.recordings.read        x x . x .
  phone.registration.prepare   x x . x .
  phone.registration.submit    x x . x .
  phone.settings.write         x x . x .
  sandbox.delete               x x x x x
  sandbox.exec                 x x x . .
  sandbox.files.write          x x x . .
  sandbox.preview              x x x . .
  sandbox.push                 x x x . .
  sandbox.read                 x x x x x
  sandbox.start                x x x . .
  sandbox.stop                 x x x x x
  team.people.read             x x x x x
`

const person = (role: Role, ...grant: Parameters<typeof permissionsOf>[1]) =>
  buildPerson("per_1", role, { grant, deny: [] })

describe("each role and each operation", () => {
  it("match the table", () => {
    const rows = ALL_OPERATIONS.map((operation) => {
      const marks = ROLES.map((role) => (canPerform(person(role), operation) ? "x" : "."))
      return `  ${operation.padEnd(29)}${marks.join(" ")}`
    })
    expect(`\n${rows.join("\n")}\n`).toBe(MATRIX)
  })

  it("are 50 operations of the specification, two of ours, and 15 that cannot be granted", () => {
    expect(ALL_OPERATIONS).toHaveLength(52)
    expect(OPERATIONS_WITHOUT_ROUTE).toHaveLength(15)
    expect(OPERATIONS_WITHOUT_ROUTE.filter(isOperation)).toEqual([])
    expect(ALL_OPERATIONS.every(isOperation)).toBe(true)
    expect(["", "toString", "__proto__"].some(isOperation)).toBe(false)
  })
})

describe("permissions", () => {
  it("are those of the role and the granted ones, each once, in a fixed order", () => {
    expect(permissionsOf("user", [])).toEqual([])
    expect(permissionsOf("user", ["See billing", "Team", "Team"])).toEqual(["Team", "See billing"])
    expect(permissionsOf("manager", ["Team", "Push and upload code"])).toEqual([
      "Team",
      "Push and upload code",
      "Use phone",
      "Manage phone",
      "Send email",
      "Manage domains",
      "Look up addresses",
      "Read leads",
      "See billing",
    ])
    expect(permissionsOf("owner", [])).toEqual(PERMISSIONS)
    expect(permissionsOf("admin", [])).toEqual(PERMISSIONS)
  })

  it("allow a user their operations", () => {
    expect(canPerform(person("user"), "phone.messages.send")).toBe(false)
    expect(canPerform(person("user", "Use phone"), "phone.messages.send")).toBe(true)
    expect(canPerform(person("user", "Use phone"), "phone.optouts.add")).toBe(false)
  })

  it("never allow an operation that is reserved for owners", () => {
    const admin = person("admin", ...PERMISSIONS)
    expect(canPerform(admin, "account.company.delete")).toBe(false)
  })
})

describe("a grant or denial", () => {
  const user = (grant: readonly Grantable[], deny: readonly Grantable[], role: Role = "user") =>
    buildPerson("per_1", role, { grant, deny })

  it("allows one operation and no other", () => {
    const granted = user(["phone.messages.send"], [])
    expect(canPerform(granted, "phone.messages.send")).toBe(true)
    expect(canPerform(granted, "phone.messages.read")).toBe(false)
    expect(granted.permissions).toEqual([])
  })

  it("allows and denies a permission with its operations", () => {
    expect(user(["Use phone"], []).permissions).toEqual(["Use phone"])
    const denied = user([], ["Use phone"], "manager")
    expect(denied.permissions).not.toContain("Use phone")
    expect(canPerform(denied, "phone.messages.send")).toBe(false)
    expect(canPerform(denied, "phone.optouts.add")).toBe(true)
  })

  it("denies one operation, even one that every role has", () => {
    const denied = user([], ["phone.messages.send", "team.people.read"], "manager")
    expect(canPerform(denied, "phone.messages.send")).toBe(false)
    expect(canPerform(denied, "phone.messages.read")).toBe(true)
    expect(canPerform(denied, "team.people.read")).toBe(false)
  })

  it("prefers a denial to a grant", () => {
    expect(canPerform(user(["email.send"], ["Send email"]), "email.send")).toBe(false)
    expect(canPerform(user(["Send email"], ["email.send"]), "email.send")).toBe(false)
  })

  it("changes nothing for owners and admins", () => {
    for (const role of ["owner", "admin"] as const) {
      const admin = user([], ["Send email", "email.send"], role)
      expect(admin.permissions).toEqual(PERMISSIONS)
      expect(canPerform(admin, "email.send")).toBe(true)
    }
  })

  it("accepts every name that can be granted, and no other", () => {
    expect(GRANTABLE.map(grantFault).filter((fault) => fault !== null)).toEqual([
      "is reserved for owners and cannot be granted",
    ])
    expect(grantFault("account.company.delete")).toMatch(/reserved for owners/)
    for (const name of OPERATIONS_WITHOUT_ROUTE) expect(grantFault(name)).toMatch(/no route yet/)
    for (const name of ["", "phone", "toString"])
      expect(grantFault(name)).toMatch(/not a permission/)
  })
})
