/** Bots that send forms: they get the usual answer, and nothing they sent is stored. */
import { anyTable } from "../support/read-models.ts"
import { beforeEach, describe, expect, it } from "vitest"
import { dumpDatabase, secretsFoundIn, readUnsealedStreams } from "../company/planted-data.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, openWorld, ownWorld, freezeRateWindow } from "../support/world.ts"
import { countBotSubmissions } from "./bot-submissions.ts"
import { SAMPLE_LEAD, listAllLeads, openForm, postForm, postFormJson } from "./forms.ts"

const world = await ownWorld("time", { rateLimits: "off" })
let company: Company
let form: string
beforeEach(async () => {
  company = await makeCompany(world)
  form = await openForm(world, company, { refuseLinks: true })
})

/** The signed time in a form's hosted page. */
async function timeOnPage(formId: string): Promise<string> {
  const { body } = await world.app.inject({ method: "GET", url: `/forms/${formId}` })
  return /name="_time" value="([^"]+)"/.exec(body)?.[1] ?? ""
}

const LINKS = "http://a.example HTTPS://b.example www.c.example"

describe("a bot", () => {
  it("gets the same answer as a person", async () => {
    for (const values of [SAMPLE_LEAD, { ...SAMPLE_LEAD, website_url: "x" }]) {
      const page = await postForm(world, form, values)
      expect([page.status, page.headers["location"]]).toEqual([303, `/forms/${form}/thanks`])
      const { status, body, headers } = await postFormJson(world, form, {
        ...values,
        lastName: "B",
      })
      expect([status, Object.keys(body)]).toEqual([201, ["id"]])
      expect(body.id).toMatch(/^lead_[0-9a-f]{32}$/)
      expect(Object.keys(headers)).not.toContain("ledger-position")
    }
    expect(await listAllLeads(world, company)).toHaveLength(2)
  })

  it("leaves no lead, no key and no personal data, even in a thousand submissions", async () => {
    const secrets = {
      name: "Wilhelmina Botsworth",
      email: "wilhelmina@bots.example",
      message: "buy the purple pills",
    }
    const { name: firstName, email, message } = secrets
    const kinds = [
      { firstName, email, message, website_url: "https://spam.example" },
      { firstName, email, message, _time: await timeOnPage(form) },
      { firstName, phone: "1", message: `${message} ${LINKS}` },
      { firstName, email, message, rest: "x".repeat(65_536) },
    ]
    const before = await countBotSubmissions(world)
    const keysBefore = await keys()
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_none, i) => postForm(world, form, kinds[i % kinds.length])),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 750 }, () => 303),
      ...Array.from({ length: 250 }, () => 413),
    ])
    expect(await listAllLeads(world, company)).toEqual([])
    expect(await keys()).toEqual(keysBefore)
    expect(
      secretsFoundIn([...(await dumpDatabase(world)), await readUnsealedStreams(world)], secrets),
    ).toEqual([])
    expect(world.warnings).toEqual([])
    const after = await countBotSubmissions(world)
    const added = Object.entries(after).map(([reason, count]) => [
      reason,
      count - (before[reason] ?? 0),
    ])
    expect(Object.fromEntries(added)).toEqual({ honeypot: 250, quick: 250, links: 250 })
  })

  const keys = async () =>
    (
      await anyTable(world.ports.readAll)
        .selectFrom("ledger.subject_keys")
        .select("subject")
        .execute()
    ).length
})

describe("a person", () => {
  it("takes at least two seconds for the hosted page, whose signed time is valid for that form only", async () => {
    const time = await timeOnPage(form)
    const other = await timeOnPage(await openForm(world, company))
    const start = world.ports.clock.now()
    const send = async (values: Record<string, string>) => {
      await postForm(world, form, { ...SAMPLE_LEAD, ...values })
      return (await listAllLeads(world, company)).length
    }
    const at = (ms: number) =>
      world.operate("clock set", { to: new Date(start + ms).toISOString() })
    await at(1_999)
    expect(await send({ _time: time })).toBe(0)
    // A plain HTML form has no time. A time of another form, or an invalid one, is ignored.
    expect(await send({ lastName: "1" })).toBe(1)
    expect(await send({ lastName: "2", _time: other })).toBe(2)
    expect(await send({ lastName: "3", _time: `${time}0` })).toBe(3)
    expect(await send({ lastName: "4", _time: "zzzzzzzzz-" })).toBe(4)
    await at(2_000)
    expect(await send({ _time: time })).toBe(5)
    const leads = await listAllLeads(world, company)
    expect(leads.map(({ fields }) => fields)).toEqual(Array.from({ length: 5 }, () => ({})))
  })

  it.each([
    [
      "sends two links",
      true,
      { phone: "1", message: "http://www.a.example https://www.b.example" },
      1,
    ],
    [
      "sends two links, and the page's own addresses",
      true,
      { phone: "1", message: "www.a www.b", pageUrl: "http://c", _next: "http://d" },
      1,
    ],
    ["sends three links and an email address", true, { ...SAMPLE_LEAD, message: LINKS }, 1],
    ["does not send three links without an email address", true, { phone: "1", message: LINKS }, 0],
    [
      "does not send three links in three fields",
      true,
      { phone: "1", a: "http://a", b: "http://b", c: "www.c" },
      0,
    ],
    ["sends three links to a form that allows them", false, { phone: "1", message: LINKS }, 1],
  ])("%s", async (_title, refuseLinks, values, count) => {
    const formId = await openForm(world, company, { refuseLinks })
    expect((await postFormJson(world, formId, values)).status).toBe(201)
    expect(await listAllLeads(world, company)).toHaveLength(count)
  })
})

describe("a client address", () => {
  it("may send ten forms a minute, whatever its forwarding headers say", async () => {
    const strict = await openWorld("start", { url: world.databaseUrl })
    freezeRateWindow(strict)
    const statuses: number[] = []
    for (let i = 0; i < 12; i += 1) {
      const headers = { "x-forwarded-for": `192.0.2.${i}`, forwarded: `for=192.0.2.${i}` }
      const send = i % 2 === 0 ? postForm : postFormJson
      statuses.push(
        (await send(strict, form, { ...SAMPLE_LEAD, lastName: `${i}` }, headers)).status,
      )
    }
    await strict.close()
    expect(statuses.slice(0, 10).every((status) => status < 400)).toBe(true)
    expect(statuses.slice(10)).toEqual([429, 429])
  })
})
