/** `GET` and `POST /api/v1/email/domains`. */
import { describe, expect, it } from "vitest"
import { makeCompany } from "../support/world.ts"
import { SENDING, makeLive, ownDomainWorld, told } from "./domain-world.ts"

const world = await ownDomainWorld()

describe("sending domains", () => {
  it("are verified by a check once the world sees their records", async () => {
    const { company, domain, domainId } = await makeLive(world)
    const add = { action: "add", domainId, domain: `mail.${domain}` }
    const { body } = await world.call(company.key, "POST", SENDING, { body: add })
    expect(body).toMatchObject({ domain: `mail.${domain}`, status: "pending" })
    const check = { action: "check", id: body.id }
    await told(world, "elsewhere", 5)
    const early = await world.call(company.key, "POST", SENDING, { body: check })
    expect(early).toMatchObject({ status: 200, body: { status: "pending" } })
    await told(world, "ok")
    await world.operate("wait")
    const checked = await world.call(company.key, "POST", SENDING, { body: check })
    expect(checked).toMatchObject({ status: 200, body: { status: "verified" } })
    const listed = await world.call(company.key, "GET", SENDING)
    expect(listed.body.senders).toEqual([])
    expect(listed.body.domains).toContainEqual(
      expect.objectContaining({
        id: body.id,
        domainId,
        domain: `mail.${domain}`,
        status: "verified",
        error: null,
        parentDomain: domain,
        parentStatus: "live",
      }),
    )
  })

  it("are only what is connected, or under it, and the company's own", async () => {
    const { company, domain, domainId } = await makeLive(world)
    const add = (name: string, key = company.key) =>
      world.call(key, "POST", SENDING, { body: { action: "add", domainId, domain: name } })
    expect(await add(`evil${domain}`)).toMatchObject({ status: 400 })
    const other = await makeCompany(world)
    expect(await add(domain, other.key)).toMatchObject({ status: 404 })
    // The names of its records and its return path are longer than it is.
    const under = (length: number) => {
      const labels = `${"b".repeat(50)}.`.repeat(4)
      return `${labels.slice(0, length - domain.length - 1)}.${domain}`.replace("..", ".b")
    }
    expect(await add(under(201))).toMatchObject({
      status: 400,
      body: { fields: { domain: expect.stringContaining("200") } },
    })
    const longest = await add(under(200))
    expect(longest).toMatchObject({ status: 200, body: { domain: under(200) } })
  })
})
