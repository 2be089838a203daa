/** Saving, reading and drafting business details and campaigns. */
import { describe, expect, it } from "vitest"
import { makeCompany, sharedWorld } from "../support/world.ts"
import {
  BUSINESS_INPUT,
  callPhoneRoute,
  phoneRouteBody,
  postOwnSitePages,
  requestBusinessReview,
  saveRegistration,
} from "./registration-world.ts"

const world = await sharedWorld()

describe("business details", () => {
  it("are replaced as a whole, and shown by phone/state", async () => {
    const company = await makeCompany(world)
    expect(await phoneRouteBody(world, company, "PUT business", BUSINESS_INPUT)).toEqual({
      ok: true,
    })
    const first = await phoneRouteBody(world, company, "GET state")
    expect(first.business).toEqual({ ...BUSINESS_INPUT, country: "US" })
    const { brandName: _brand, ...without } = BUSINESS_INPUT
    await phoneRouteBody(world, company, "PUT business", without)
    expect((await phoneRouteBody(world, company, "GET state")).business).not.toHaveProperty(
      "brandName",
    )
  })

  it("have all their invalid fields reported together", async () => {
    const company = await makeCompany(world)
    const invalid = { ...BUSINESS_INPUT, ein: "12", region: "Texas", repEmail: "ada" }
    const { status, body } = await callPhoneRoute(world, company, "PUT business", invalid)
    expect([status, body.error]).toEqual([400, "validation"])
    expect(body.fields).toEqual({
      ein: "Must be nine digits.",
      region: "Must be a state's two letters, for example TX.",
      repEmail: "Must be an email address.",
    })
  })

  it("cannot change while they are under review", async () => {
    const company = await makeCompany(world)
    await phoneRouteBody(world, company, "PUT business", BUSINESS_INPUT)
    expect((await requestBusinessReview(world, company)).status).toBe(200)
    const { status, body } = await callPhoneRoute(world, company, "PUT business", {
      ...BUSINESS_INPUT,
      brandName: "Another Bakery",
    })
    expect([status, body.error]).toEqual([409, "conflict"])
    // Saving identical details is allowed.
    expect((await callPhoneRoute(world, company, "PUT business", BUSINESS_INPUT)).status).toBe(200)
  })

  it("are sealed in the events", async () => {
    const company = await makeCompany(world)
    await saveRegistration(world, company)
    const { events } = await world.operate("audit show", {
      stream: `registration-${company.companyId}`,
    })
    expect(events).toHaveLength(4)
    const json = JSON.stringify(events)
    for (const secret of ["Acme", "123456789", "Ada", "pick-ups"]) {
      expect(json).not.toContain(secret)
    }
  })
})

describe("a campaign", () => {
  it("lists its missing prerequisites", async () => {
    const company = await makeCompany(world)
    const read = async () => phoneRouteBody(world, company, "GET campaign")
    expect(await read()).toEqual({ ready: false, missing: ["business", "pages"] })
    const early = await callPhoneRoute(world, company, "POST campaign/draft")
    expect([early.status, early.body.missing]).toEqual([409, ["business", "pages"]])
    await phoneRouteBody(world, company, "PUT business", BUSINESS_INPUT)
    expect(await read()).toEqual({ ready: false, missing: ["pages"] })
    await postOwnSitePages(world, company)
    expect(await read()).toMatchObject({
      ready: true,
      saved: false,
      brandType: null,
      description: null,
      samples: [],
      setupPaid: false,
      mock: true,
      problems: expect.any(Array) as object,
      fees: {
        brandMicros: 4_500_000,
        campaignMicros: 15_000_000,
        rushMicros: 29_000_000,
        dueMicros: 0,
      },
    })
  })

  it("is drafted, and can be read after it is saved", async () => {
    const company = await makeCompany(world)
    await saveRegistration(world, company)
    const draft = await phoneRouteBody(world, company, "POST campaign/draft")
    expect(draft.messageFlow).toContain("https://acme.example/texts")
    const read = await phoneRouteBody(world, company, "GET campaign")
    expect(read).toMatchObject({
      ready: true,
      saved: true,
      brandType: "low_volume",
      samples: draft.samples,
      description: draft.description,
      hasLinks: draft.hasLinks,
      directLending: false,
    })
  })

  it("has no problems with the suggested replies to keywords", async () => {
    const company = await makeCompany(world)
    await saveRegistration(world, company)
    const { problems } = await phoneRouteBody(world, company, "GET campaign")
    expect(problems.map(({ where }: { where: string }) => where).toSorted()).toEqual([
      "replies.helpReply",
      "replies.optInReply",
      "replies.optOutReply",
    ])
    const { suggested } = (await phoneRouteBody(world, company, "GET settings")).texting
    expect(suggested.helpReply).toContain("help@acme.example")
    await phoneRouteBody(world, company, "PATCH settings", { texting: suggested })
    const read = await phoneRouteBody(world, company, "GET campaign")
    expect([read.problems, read.replies]).toEqual([[], suggested])
  })

  it("lists the problems that a reviewer would find", async () => {
    const company = await makeCompany(world)
    await saveRegistration(world, company)
    const { ready: _ready, ...campaign } = await phoneRouteBody(world, company, "GET campaign")
    const samples = ["Your order is ready: bit.ly/1 or so.", "And another one of these texts."]
    const saved = await phoneRouteBody(world, company, "PUT campaign", { ...campaign, samples })
    const problems = saved.problems.map(({ where, code }: { where: string; code: string }) => {
      return `${where} ${code}`
    })
    expect(problems.slice(0, 4)).toEqual([
      "samples.0 no_brand",
      "samples.0 short_link",
      "samples.1 no_brand",
      "samples no_stop",
    ])
  })

  it.for([
    ["description", "too short"],
    ["samples", ["only one sample of a text"]],
    ["brandType", "sole_proprietor"],
  ] as const)("has a message for an invalid %s", async ([field, value]) => {
    const company = await makeCompany(world)
    await saveRegistration(world, company)
    const draft = await phoneRouteBody(world, company, "POST campaign/draft")
    const body = { ...draft, brandType: "low_volume", [field]: value }
    const answer = await callPhoneRoute(world, company, "PUT campaign", body)
    expect([answer.status, Object.keys(answer.body.fields)]).toEqual([400, [field]])
  })
})
