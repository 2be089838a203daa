import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"
import { MESSAGES_PATH, newPhoneNumber, postText } from "./text-requests.ts"

const world = await ownWorld("settings", { rateLimits: "off" })

/** The texts that the API lists for a key. */
async function list(key: string, query = "") {
  const { status, body } = await world.call(key, "GET", `${MESSAGES_PATH}${query}`)
  expect(status).toBe(200)
  return body.messages as readonly {
    readonly id: string
    readonly body: string
    readonly createdAt: string
    readonly status: string
  }[]
}

describe("the list of messages", () => {
  it("shows every field of a sent and of a received text", async () => {
    const company = await makeCompany(world)
    const to = newPhoneNumber()
    const sent = (await postText(world, company.key, { to })).body
    const { from } = sent
    const { messageId } = await world.operate("carrier text-in", { from: to, to: from, body: "Hi" })
    await world.operate("wait")
    const [out, received] = await list(company.key)
    const numberId = expect.stringMatching(/^num_/)
    const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(out).toEqual({
      id: sent.id,
      numberId,
      direction: "out",
      from,
      to,
      body: sent.body,
      media: 0,
      status: "sent",
      errorCode: null,
      apiKeyId: company.keyId,
      createdAt,
    })
    expect(received).toEqual({
      id: messageId,
      numberId,
      direction: "in",
      from: to,
      to: from,
      body: "Hi",
      media: 0,
      status: "received",
      errorCode: null,
      apiKeyId: null,
      createdAt,
    })
  })

  it("is empty for a new company, and shows no other company's texts", async () => {
    const [one, other] = [await makeCompany(world), await makeCompany(world)]
    await postText(world, one.key)
    expect(await list(one.key)).toHaveLength(1)
    expect(await list(other.key)).toEqual([])
  })

  it("has the order of the ledger, with a distinct time for each text", async () => {
    const { key } = await makeCompany(world)
    const to = newPhoneNumber()
    const bodies = Array.from({ length: 12 }, (_none, i) => `stop ${i}`)
    for (const body of bodies) await postText(world, key, { to, body })
    const found = await list(key)
    expect(found.map(({ body }) => body)).toEqual(bodies)
    const times = found.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...new Set(times)].toSorted())
  })
})

describe("the parameter since", async () => {
  const company = await makeCompany(world)
  const sends = Array.from({ length: 205 }, (_none, i) =>
    postText(world, company.key, { body: `Number ${i}` }),
  )
  await Promise.all(sends)
  await world.operate("wait")
  const all = await list(company.key)

  it("defaults to the newest 200 texts, oldest first", () => {
    expect(all).toHaveLength(200)
    const times = all.map(({ createdAt }) => createdAt)
    expect(times).toEqual(times.toSorted())
  })

  it("selects texts created strictly after it, in any time zone", async () => {
    const at = all[150]?.createdAt as string
    const after = all.slice(151)
    expect(await list(company.key, `?since=${at}`)).toEqual(after)
    expect(await list(company.key, `?since=${at.toLowerCase()}`)).toEqual(after)
    const local = new Date(Date.parse(at) + 2 * 3_600_000).toISOString().replace("Z", "%2B02:00")
    expect(await list(company.key, `?since=${local}`)).toEqual(after)
    const before = new Date(Date.parse(at) - 1).toISOString()
    expect(await list(company.key, `?since=${before}`)).toEqual(all.slice(150))
  })

  it("selects at most the newest 200", async () => {
    expect(await list(company.key, "?since=2000-01-01T00:00:00Z")).toEqual(all)
  })

  it("selects nothing after the newest text, until there is a newer one", async () => {
    const newest = all.at(-1)?.createdAt
    expect(await list(company.key, `?since=${newest}`)).toEqual([])
    const { body } = await postText(world, company.key)
    expect(await list(company.key, `?since=${newest}`)).toMatchObject([{ id: body.id }])
    expect(await list(company.key, "?since=9999-12-31T23:59:59Z")).toEqual([])
  })

  it.for([
    "?since=",
    "?since=yesterday",
    "?since=2026-13-01T00:00:00Z",
    "?since=2026-02-30T00:00:00Z",
    "?since=2026-01-01",
    "?since=2026-01-01T00:00:00",
    "?since=1700000000000",
    "?since=2026-01-01T00:00:00Z&since=2026-01-02T00:00:00Z",
    "?since=2026-01-01T00:00:00Z';--",
    "?since=%EF%BF%BD",
  ])("is rejected with 400 if it is not a time: %s", async (query) => {
    const { status, body } = await world.call(company.key, "GET", `${MESSAGES_PATH}${query}`)
    expect([status, body.error]).toEqual([400, "validation"])
    expect(Object.keys(body.fields)).toEqual(["since"])
  })
})
