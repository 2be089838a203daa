import { describe, expect, it } from "vitest"
import { PERMISSIONS } from "../../domain/access/permissions.ts"
import { makeCompany, makeKey, ownWorld, setLimit } from "../support/world.ts"

const world = await ownWorld("time")

const URL = "/api/v1/people"

describe("GET /people 200", () => {
  it('shows all people, permissions and invitations to a person with the permission "Team"', async () => {
    const { key, ownerId } = await makeCompany(world)
    const { status, body } = await world.call(key, "GET", URL)
    expect(status).toBe(200)
    expect(body).toEqual({
      people: [
        {
          id: ownerId,
          name: "Owner",
          email: "owner@example.com",
          role: "owner",
          self: true,
          canUseApp: true,
          permissions: [...PERMISSIONS],
          online: false,
          onlineIn: [],
          lastSeenAt: null,
          lastSeenIn: null,
          app: null,
        },
      ],
      invited: [],
      onlineSeconds: 120,
      at: (await world.operate("clock show")).now,
    })
  })

  it('shows a person without the permission "Team" only themselves, without permissions or invitations', async () => {
    const company = await makeCompany(world)
    const { key, personId } = await makeKey(world, company, { role: "developer", name: "Dev" })
    const { body } = await world.call(key, "GET", URL)
    expect(Object.keys(body).toSorted()).toEqual(["at", "onlineSeconds", "people"])
    expect(body.people).toMatchObject([{ id: personId, name: "Dev", self: true }])
    expect(Object.keys(body.people[0])).not.toContain("permissions")
  })

  it('respects the permission "Team" that was granted in addition to a role', async () => {
    const company = await makeCompany(world)
    const options = { role: "user", permissions: ["Team"] } as const
    const { key, personId } = await makeKey(world, company, options)
    const { body } = await world.call(key, "GET", URL)
    expect(body.people).toHaveLength(2)
    const self = body.people.find(({ id }: { id: string }) => id === personId)
    expect(self).toMatchObject({
      self: true,
      permissions: ["Team"],
      app: { role: "user", grant: ["Team"], deny: [] },
    })
  })

  it("sorts by name without case, then by id", async () => {
    const company = await makeCompany(world)
    for (const name of ["bob", "Ann", "zoe", "ann", "Émile"])
      await makeKey(world, company, { name })
    const { body } = await world.call(company.key, "GET", URL)
    const people = body.people as readonly { readonly id: string; readonly name: string }[]
    const keys = people.map(({ name, id }) => `${name.toLowerCase()} ${id}`)
    expect(keys).toEqual(keys.toSorted())
    expect(people).toHaveLength(6)
  })

  it("has an app block for everyone except owners and admins", async () => {
    const company = await makeCompany(world)
    for (const role of ["admin", "developer", "manager", "user"] as const) {
      await makeKey(world, company, { role, name: role })
    }
    const { body } = await world.call(company.key, "GET", URL)
    const people = body.people as readonly { readonly role: string; readonly app: unknown }[]
    expect(Object.fromEntries(people.map(({ role, app }) => [role, app]))).toEqual({
      owner: null,
      admin: null,
      developer: { role: "developer", grant: [], deny: [] },
      manager: { role: "manager", grant: [], deny: [] },
      user: { role: "user", grant: [], deny: [] },
    })
  })

  it("shows no people of another company", async () => {
    const [one, other] = [await makeCompany(world), await makeCompany(world)]
    await makeKey(world, one, { name: "Person of one" })
    const { body } = await world.call(other.key, "GET", URL)
    expect(body.people).toMatchObject([{ id: other.ownerId }])
  })

  it("shows no people to an app key without a sign-in", async () => {
    const { companyId } = await makeCompany(world)
    const { key } = await makeKey(world, { companyId }, { app: true })
    const { body } = await world.call(key, "GET", URL)
    expect(body.people).toEqual([])
    expect(Object.keys(body)).not.toContain("invited")
  })

  it("is available while the account is locked, and is not counted", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("company lock", { company: companyId })
    await setLimit(world, { companyId }, { dollars: "0" })
    expect((await world.call(key, "GET", URL)).status).toBe(200)
  })
})

describe("GET /people 403", () => {
  it("requires team.people.read, which every role has", async () => {
    const company = await makeCompany(world)
    const sender = await makeKey(world, company, { operations: ["phone.messages.send"] })
    expect((await world.call(sender.key, "GET", URL)).body).toMatchObject({
      error: "operation_not_granted",
      operation: "team.people.read",
    })
    const user = await makeKey(world, company, { role: "user" })
    expect((await world.call(user.key, "GET", URL)).status).toBe(200)
  })
})
