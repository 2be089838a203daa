/** Online status, invitations and changes of people, as `GET /people` shows them. */
import { beforeEach, describe, expect, it } from "vitest"
import { PERMISSIONS } from "../../domain/access/permissions.ts"
import type { KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import type { Company } from "../support/world.ts"
import { addPerson, makeCompany, makeKey, ownWorld } from "../support/world.ts"

const URL = "/api/v1/people"

const world = await ownWorld("time")
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

interface ShownPerson {
  readonly id: string
  readonly name: string
  readonly online: boolean
  readonly onlineIn: readonly string[]
  readonly lastSeenAt: string | null
  readonly lastSeenIn: string | null
}

async function shown(key = company.key) {
  return (await world.call(key, "GET", URL)).body
}
const people = async (): Promise<readonly ShownPerson[]> => (await shown()).people
const self = async () => (await people()).find(({ id }) => id === company.ownerId)
const seen = (personId: PersonId, app: string) =>
  world.operate("person seen", { personId, in: app })
const advance = (duration: string) => world.operate("clock advance", { duration })

describe("online status", () => {
  it("shows where a person was seen within 120 seconds, and where they were seen last", async () => {
    const { ownerId } = company
    const { at: first } = await seen(ownerId, "launcher")
    await advance("60s")
    const { at: last } = await seen(ownerId, "app")
    expect(await self()).toMatchObject({
      online: true,
      onlineIn: ["app", "launcher"],
      lastSeenAt: last,
      lastSeenIn: "app",
    })
    await advance("60s")
    expect(await self()).toMatchObject({ onlineIn: ["app", "launcher"] })
    await advance("1s")
    expect(await self()).toMatchObject({ online: true, onlineIn: ["app"] })
    await advance("60s")
    expect(await self()).toMatchObject({
      online: false,
      onlineIn: [],
      lastSeenAt: last,
      lastSeenIn: "app",
    })
    expect(first < last).toBe(true)
  })

  it("sorts online people first, both groups by name", async () => {
    const added = async (name: string) => (await makeKey(world, company, { name })).personId
    const dora = await added("dora")
    await added("Carl")
    const bea = await added("bea")
    await added("Abe")
    await seen(dora, "dashboard")
    await seen(bea, "app")
    expect((await people()).map(({ name }) => name)).toEqual([
      "bea",
      "dora",
      "Abe",
      "Carl",
      "Owner",
    ])
  })

  it("is not stored as facts, and not changed by calls of a key", async () => {
    const before = await world.ports.store.head()
    await people()
    await seen(company.ownerId, "app")
    expect(await world.ports.store.head()).toEqual(before)
    const other = await makeCompany(world)
    expect((await world.call(other.key, "GET", URL)).body.people[0].online).toBe(false)
    const kind = await queryRows<{ kind: string }>(
      world.databaseUrl,
      "select relpersistence as kind from pg_class where relname = 'online_status'",
    )
    expect(kind).toEqual([{ kind: "u" }])
  })

  it("is rejected for an unknown person", async () => {
    await expect(seen("per_unknown", "app")).rejects.toThrow("There is no person per_unknown.")
  })
})

describe("invitations", () => {
  const invite = (email: string, role = "developer") =>
    world.operate("person invite", { company: company.companyId, email, role })

  it('are shown to people with the permission "Team" until they expire', async () => {
    const { expiresAt } = await invite("new@example.com")
    expect((await shown()).invited).toEqual([
      { email: "new@example.com", role: "developer", expiresAt },
    ])
    const { key } = await makeKey(world, company, { role: "developer" })
    expect(Object.keys(await shown(key))).not.toContain("invited")
    await advance("7d")
    expect((await shown()).invited).toEqual([])
  })

  it("are one per email, and renewed by another invitation", async () => {
    await invite("new@example.com")
    await advance("1d")
    const { expiresAt } = await invite("NEW@example.com", "user")
    expect((await shown()).invited).toEqual([{ email: "NEW@example.com", role: "user", expiresAt }])
  })

  it("end when a person with the email is added, or changes to it", async () => {
    await invite("new@example.com")
    await invite("other@example.com")
    const { personId } = await addPerson(world, company, {
      name: "New",
      email: "New@example.com",
      role: "user",
    })
    expect((await shown()).invited).toMatchObject([{ email: "other@example.com" }])
    await world.operate("person change", { personId, email: "other@example.com" })
    expect((await shown()).invited).toEqual([])
    await expect(invite("other@example.com")).rejects.toThrow(/already has this email/)
  })
})

describe("people", () => {
  it("are shown with their changes", async () => {
    const { personId, key } = await makeKey(world, company, { role: "user", name: "Old" })
    await world.operate("person change", {
      personId,
      name: "New",
      email: "new@example.com",
      role: "developer",
      permissions: ["Team"],
    })
    const { people: all } = await shown(key)
    expect(all.find(({ id }: ShownPerson) => id === personId)).toMatchObject({
      name: "New",
      email: "new@example.com",
      role: "developer",
      self: true,
      app: { role: "developer", grant: ["Team"], deny: [] },
    })
    await world.operate("person change", { personId, withoutPermissions: true })
    expect((await shown(key)).people).toMatchObject([{ id: personId, app: { grant: [] } }])
  })

  it("show their grants and denials, and the resulting permissions", async () => {
    const { personId } = await makeKey(world, company, { role: "manager" })
    const grant = ["sandbox.start", "Push and upload code"]
    const answer = await world.operate("person app", { personId, grant, deny: ["Team"] })
    const app = { grant: ["Push and upload code", "sandbox.start"], deny: ["Team"] }
    expect(answer).toMatchObject({ personId, role: "manager", app })
    const found = (await people()).find(({ id }) => id === personId)
    expect(found).toMatchObject({ app: { role: "manager", ...app } })
    expect(found).toMatchObject({ permissions: answer.permissions })
    expect(answer.permissions).toContain("Push and upload code")
    expect(answer.permissions).not.toContain("Team")
    await world.operate("person change", { personId, role: "admin" })
    expect((await people()).find(({ id }) => id === personId)).toMatchObject({
      app: null,
      permissions: PERMISSIONS,
    })
  })

  it("cannot be granted operations without a route or reserved for owners", async () => {
    const { personId } = await makeKey(world, company, { role: "user" })
    for (const name of ["ai.models.use", "account.company.delete", "nothing"]) {
      await expect(world.operate("person app", { personId, grant: [name] })).rejects.toThrow(name)
    }
  })

  it("lose their keys when they are removed", async () => {
    const { personId, key, keyId } = await makeKey(world, company, { role: "manager" })
    await world.operate("person remove", { personId })
    expect((await world.call(key, "GET", URL)).status).toBe(401)
    expect((await people()).map(({ id }) => id)).toEqual([company.ownerId])
    const { keys } = await world.operate("key list", { company: company.companyId })
    expect(keys.find((one: { keyId: KeyId }) => one.keyId === keyId).status).toBe("deleted")
    await expect(world.operate("person remove", { personId })).rejects.toThrow(personId)
    await expect(world.operate("person remove", { personId: company.ownerId })).rejects.toThrow(
      /must have an owner/,
    )
  })

  it("are listed to an operator, with invitations", async () => {
    const { companyId, ownerId } = company
    const email = "new@example.com"
    const invited = await world.operate("person invite", {
      company: companyId,
      email,
      role: "user",
    })
    expect(await world.operate("person list", { company: companyId })).toEqual({
      people: [
        {
          personId: ownerId,
          name: "Owner",
          email: "owner@example.com",
          role: "owner",
          permissions: PERMISSIONS,
          rolePermissions: PERMISSIONS,
          grant: [],
          deny: [],
          addedAt: expect.stringMatching(/Z$/),
        },
      ],
      invited: [{ inviteId: invited.inviteId, email, role: "user", expiresAt: invited.expiresAt }],
    })
  })
})
