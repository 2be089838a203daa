/** Listing leads and collecting them: nothing is lost, and nothing counts twice. */
import { afterAll, describe, expect, it } from "vitest"
import type { Company, World } from "../support/world.ts"
import { makeCompany, openWorld, ownWorld } from "../support/world.ts"
import { LEADS, leadsOf, openForm, postJson } from "./forms.ts"

/** So many a form takes in a minute. */
const A_FORM = 60

const world = await ownWorld("time", { rateLimits: "off" })
/** Another process on the same database. */
const other = await openWorld("start", { rateLimits: "off", url: world.databaseUrl })
afterAll(() => other.close())

/** Sends so many leads at once, by as many forms as it takes; resolves with their ids. */
async function sendMany(company: Company, count: number): Promise<readonly string[]> {
  const forms = await Promise.all(
    Array.from({ length: Math.ceil(count / A_FORM) }, () => openForm(world, company)),
  )
  const sent = Array.from({ length: count }, async (_none, i) => {
    const answer = await postJson(world, forms[i % forms.length] ?? "", { email: `${i}@a.example` })
    expect(answer.status).toBe(201)
    return answer.body.id as string
  })
  return Promise.all(sent)
}

const collect = (from: World, { key }: Company, collected: unknown) =>
  from.call(key, "POST", LEADS, { body: { collected } })

describe("the list", () => {
  it("of 450 leads of one millisecond has each once, in pages of 200, the oldest first", async () => {
    const company = await makeCompany(world)
    const ids = await sendMany(company, 450)
    const found = await leadsOf(world, company)
    expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    const times = found.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...new Set(times)].toSorted())
    const { body } = await world.call(company.key, "GET", LEADS)
    expect(body.leads).toEqual(found.slice(0, 200))
    const since = found[249]?.createdAt
    const rest = await world.call(company.key, "GET", `${LEADS}?since=${since}`)
    expect([rest.body.leads, rest.body.nextCursor]).toEqual([found.slice(250), undefined])
    const walked = await world.call(company.key, "GET", `${LEADS}?cursor=${body.nextCursor}`)
    expect(walked.body.leads).toEqual(found.slice(200, 400))
  })

  it("asked for again and again while forms are sent loses none and shows none twice", async () => {
    const company = await makeCompany(world)
    const form = await openForm(world, company)
    const ids: string[] = []
    let isDone = false
    const write = async (by: World, writer: number) => {
      for (let i = 0; i < 20; i += 1) {
        const { status, body } = await postJson(by, form, { email: `${writer}-${i}@a.example` })
        expect(status).toBe(201)
        ids.push(body.id)
      }
    }
    const written = Promise.all([world, other, world].map(write)).then(() => (isDone = true))
    const found: { id: string; createdAt: string }[] = []
    for (let round = 0, last = false; !last; round += 1) {
      last = isDone
      if (last) await other.operate("wait")
      const reader = round % 2 === 0 ? world : other
      const after = found.at(-1)?.createdAt
      const query = after === undefined ? "" : `?since=${after}`
      const { body } = await reader.call(company.key, "GET", `${LEADS}${query}`)
      found.push(...body.leads)
    }
    await written
    expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  })

  it.each(["0", "xx", "A", "since"])("has no cursor %s, nor since", async (place) => {
    const { key } = await makeCompany(world)
    for (const name of ["cursor", "since"]) {
      const { status, body } = await world.call(key, "GET", `${LEADS}?${name}=${place}`)
      expect([status, Object.keys(body.fields)]).toEqual([400, [name]])
    }
  })

  it("is the company's own: forms whose ids were swapped bring each its own leads", async () => {
    const [one, two] = [await makeCompany(world), await makeCompany(world)]
    const [ofOne, ofTwo] = [await openForm(world, one), await openForm(world, two)]
    await postJson(world, ofTwo, {
      email: "for-two@a.example",
      formId: ofOne,
      company: one.companyId,
    })
    expect(await leadsOf(world, one)).toEqual([])
    const [lead] = await leadsOf(world, two)
    expect(lead).toMatchObject({ formId: ofTwo, company: one.companyId, fields: { formId: ofOne } })
    const input = { company: one.companyId, form: ofTwo, email: "a@a.example" }
    await expect(world.operate("lead add", input)).rejects.toThrow(/has no form/)
  })
})

describe("collecting", () => {
  it("counts each lead once, by however many at once, in two processes", async () => {
    const company = await makeCompany(world)
    const ids = await sendMany(company, 500)
    const rounds = Array.from({ length: 20 }, (_none, i) =>
      collect(i % 2 === 0 ? world : other, company, i % 3 === 0 ? ids.toReversed() : ids),
    )
    const counts = (await Promise.all(rounds)).map(({ body }) => body.collected as number)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(500)
    const found = await leadsOf(world, company)
    expect(found.filter(({ collectedAt }) => collectedAt === null)).toEqual([])
  })

  it("changes nothing of leads that are another's, collected before, or none", async () => {
    const [company, stranger] = [await makeCompany(world), await makeCompany(world)]
    const [first = "", second = ""] = await sendMany(company, 2)
    expect((await collect(world, stranger, [first, second])).body).toEqual({ collected: 0 })
    const once = await collect(world, company, [first, first, "lead_0", "msg_1", "", first])
    expect([once.status, once.body]).toEqual([200, { collected: 1 }])
    const collectedAt = (await leadsOf(world, company)).find(({ id }) => id === first)?.collectedAt
    await world.operate("clock advance", { duration: "1h" })
    expect((await collect(world, company, [second, first])).body).toEqual({ collected: 1 })
    const { body } = await world.call(company.key, "GET", LEADS)
    const times = body.leads.map((lead: { id: string; collectedAt: string }) => [
      lead.id,
      lead.collectedAt,
    ])
    expect(new Map(times).get(first)).toBe(collectedAt)
    expect(collectedAt).not.toBe(new Map(times).get(second))
  })

  it.each([
    ["500 ids", Array.from({ length: 500 }, () => "lead_0"), 200],
    ["501 ids", Array.from({ length: 501 }, () => "lead_0"), 400],
    ["none", [], 200],
    ["a number", [1], 400],
    ["nothing", null, 400],
  ])("takes %s or not", async (_what, collected, status) => {
    expect((await collect(world, await makeCompany(world), collected)).status).toBe(status)
  })

  it("is neither counted nor charged, and a list waits for it by its place", async () => {
    const company = await makeCompany(world)
    const [id] = await sendMany(company, 1)
    await leadsOf(world, company)
    const { headers } = await collect(world, company, [id])
    const position = String(headers["ledger-position"])
    const listed = await other.call(company.key, "GET", LEADS, {
      headers: { "ledger-position": position },
    })
    expect(listed.body.leads).toMatchObject([{ id, collectedAt: expect.any(String) }])
    const { tallies } = await world.operate("calls list", { company: company.companyId })
    expect(tallies).toEqual([])
  })
})
