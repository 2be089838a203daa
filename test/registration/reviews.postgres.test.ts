/** Sending for review: what it costs, what comes back, what carriers say, and which numbers can text by it. */
import { describe, expect, it, vi } from "vitest"
import { ProviderSilent } from "../../adapters/providers/outside.ts"
import { bought } from "../phone/numbering.ts"
import { tryAgain } from "../effects/texts.ts"
import { fundsOf, makeKey, sendText } from "../phone/texting.ts"
import {
  answerAs,
  asked,
  feesOf,
  partsOf,
  sendBusiness,
  sendCampaign,
  statusOf,
} from "./registering.ts"
import { BRAND, LIVE, reviewing } from "./reviewing.ts"

const { world, registryIs, advance, company, approvedBusiness } = await reviewing()

const CAMPAIGN = "campaign_fee 15000000"

describe("test mode", () => {
  it("goes from nothing to approved for nothing", async () => {
    const made = await company()
    const before = await fundsOf(world, made)
    expect(await statusOf(world, made)).toEqual({
      testMode: true,
      mock: true,
      overall: "not_sent",
      calling: "approved",
      parts: [
        { part: "business", status: "not_sent", reasons: [] },
        { part: "campaign", status: "not_sent", reasons: [] },
        { part: expect.stringMatching(/^number:num_/) as string, status: "not_sent", reasons: [] },
      ],
      paysByCard: false,
    })
    const business = await sendBusiness(world, made)
    // The campaign could be sent by now, and was not.
    expect([business.status, business.body.overall]).toEqual([200, "not_sent"])
    const campaign = await sendCampaign(world, made)
    expect([campaign.status, campaign.body.overall]).toEqual([200, "waiting"])
    const confirmed = await asked(world, made, "POST registration/confirm")
    expect([confirmed.status, confirmed.body.overall]).toEqual([200, "approved"])
    expect(await feesOf(world, made)).toEqual([])
    expect(before - (await fundsOf(world, made))).toBeLessThan(10_000)
    const again = await asked(world, made, "POST registration/confirm")
    expect([again.status, again.body.error]).toEqual([409, "conflict"])
  })

  it("answers the same request again with the same, though nothing was charged", async () => {
    const made = await company()
    const key = { "idempotency-key": "free" }
    const first = await sendBusiness(world, made, {}, key)
    const again = await sendBusiness(world, made, {}, key)
    expect(again.body).toEqual(first.body)
    expect(again.status).toBe(200)
    const other = await sendBusiness(world, made)
    expect([other.status, other.body.error]).toEqual([409, "conflict"])
  })

  it("lets every number text, and ends once it is meant: then only approved ones do", async () => {
    const made = await company()
    expect((await sendText(world, made.key)).status).toBe(200)
    await sendBusiness(world, made)
    await sendCampaign(world, made)
    await asked(world, made, "POST registration/confirm")
    const meant = await sendBusiness(world, made, LIVE)
    expect(meant.body).toMatchObject({ testMode: false, overall: "waiting" })
    expect(await partsOf(world, made)).toBe("business waiting, campaign not_sent")
    const text = await sendText(world, made.key)
    expect([text.status, text.body.error]).toEqual([409, "no_number"])
    expect(text.body.message).toContain("/api/v1/phone/registration")
    const confirmed = await asked(world, made, "POST registration/confirm")
    expect([confirmed.status, confirmed.body.error]).toEqual([409, "conflict"])
  })
})

describe("a review that is meant", () => {
  it("is charged when it is sent, and the fee is kept once carriers have it", async () => {
    const made = await company()
    await sendBusiness(world, made, LIVE)
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`])
    await answerAs(world, made, "business")
    await sendCampaign(world, made)
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`, `${CAMPAIGN} final`])
    expect(await partsOf(world, made)).toBe("business approved, campaign waiting")
  })

  it("is one charge with rush", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made, { rush: true })
    expect((await feesOf(world, made)).slice(1)).toEqual(["campaign_fee_rush 44000000 final"])
  })

  it("is refused where it does not fit the funds, and nothing is sent", async () => {
    const made = await company("4")
    const { status, body } = await sendBusiness(world, made, LIVE)
    expect([status, body.error]).toEqual([402, "payment_required"])
    expect(await partsOf(world, made)).toMatch(/^business not_sent/)
    expect((await statusOf(world, made)).testMode).toBe(true)
  })

  it("is for owners and admins alone", async () => {
    const made = await company()
    for (const role of ["developer", "manager", "user"] as const) {
      const { key } = await makeKey(world, made, { role })
      const answers = await Promise.all([
        sendBusiness(world, { key }, LIVE),
        sendCampaign(world, { key }),
        asked(world, { key }, "POST registration/confirm"),
      ])
      expect(answers.map(({ status, body }) => [status, body.error])).toEqual(
        answers.map(() => [403, "role"]),
      )
    }
    const { key } = await makeKey(world, made, { role: "admin" })
    expect((await sendBusiness(world, { key }, LIVE)).status).toBe(200)
  })

  it("is of a sole proprietor or of nobody who is one", async () => {
    const made = await company()
    const { status, body } = await sendBusiness(world, made, { brandType: "sole_proprietor" })
    expect([status, Object.keys(body.fields)]).toEqual([400, ["brandType"]])
  })

  it("is sent once for five identical requests at once, and all get its outcome", async () => {
    const made = await company()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => sendBusiness(world, made, LIVE)),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    for (const { body } of answers) expect(body).toEqual(answers[0]?.body)
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`])
    // Later it waits already.
    expect((await sendBusiness(world, made, LIVE)).status).toBe(409)
  })

  it("is sent once where another person sends it at the same time, and paid once", async () => {
    const made = await company()
    const { companyId } = made
    const person = await world.operate("person add", {
      company: companyId,
      name: "Grace",
      email: "grace@example.com",
      role: "admin",
    })
    const { key } = await world.operate("key create", {
      company: companyId,
      person: person.personId,
      name: "two",
      allOperations: true,
    })
    const answers = await Promise.all([made, { key }].map((one) => sendBusiness(world, one, LIVE)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const fees = await feesOf(world, made)
    expect(fees.filter((one) => one !== `${BRAND} given_back`)).toEqual([`${BRAND} final`])
  })

  it("is one for the same request again", async () => {
    const made = await company()
    const key = { "idempotency-key": "meant" }
    const first = await sendBusiness(world, made, LIVE, key)
    const again = await sendBusiness(world, made, LIVE, key)
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`])
  })
})

describe("carriers that cannot be reached", () => {
  it("have the whole fee given back, and the same may be sent again", async () => {
    const made = await company()
    await registryIs("unavailable", 1)
    const key = { "idempotency-key": "away" }
    const { status, body } = await sendBusiness(world, made, LIVE, key)
    expect([status, body.error]).toEqual([503, "unavailable"])
    expect(await feesOf(world, made)).toEqual([`${BRAND} given_back`])
    expect(await partsOf(world, made)).toMatch(/^business not_sent/)
    expect((await sendBusiness(world, made, LIVE, key)).status).toBe(200)
    expect(await feesOf(world, made)).toEqual([`${BRAND} given_back`, `${BRAND} final`])
  })

  it("are asked what became of it where they are silent: it waits meanwhile, and is paid once", async () => {
    const made = await company()
    await registryIs("silent", 1)
    const { status, body } = await sendBusiness(world, made, LIVE)
    expect([status, body.overall]).toEqual([200, "waiting"])
    expect(await feesOf(world, made)).toEqual([`${BRAND} open`])
    await advance("2m")
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`])
    await answerAs(world, made, "business")
    expect(await partsOf(world, made)).toBe("business approved, campaign not_sent")
  })
})

describe("what a live business that nobody got leaves behind", () => {
  it("is test mode as it was: everything approved, and texts go out", async () => {
    const made = await company()
    await sendBusiness(world, made)
    await sendCampaign(world, made)
    await asked(world, made, "POST registration/confirm")
    await registryIs("unavailable", 1)
    const { status } = await sendBusiness(world, made, LIVE)
    expect(status).toBe(503)
    expect(await statusOf(world, made)).toMatchObject({ testMode: true, overall: "approved" })
    expect((await sendText(world, made.key)).status).toBe(200)
    expect(await feesOf(world, made)).toEqual([`${BRAND} given_back`])
  })
})

describe("a campaign that a reviewer would refuse", () => {
  it("is not sent, and its fee is not paid", async () => {
    const made = await approvedBusiness()
    const draft = await asked(world, made, "POST campaign/draft")
    const samples = ["Your order is ready: bit.ly/1 or so.", "And another one of these texts."]
    await asked(world, made, "PUT campaign", { ...draft.body, brandType: "standard", samples })
    const { status, body } = await sendCampaign(world, made)
    expect([status, body.error, body.reasons.length]).toEqual([409, "conflict", 5])
    expect(body.reasons[0]).toContain("sent as low_volume")
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`])
  })

  it("is charged rush alone where it is put right with rush", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign", "action-needed")
    const { status } = await sendCampaign(world, made, { rush: true })
    expect(status).toBe(200)
    expect((await feesOf(world, made)).slice(1)).toEqual([
      `${CAMPAIGN} final`,
      "campaign_rush 29000000 final",
    ])
  })
})

describe("a number of which the registry says nothing", () => {
  it("is asked about again, and keeps no other number from being registered", async () => {
    const made = await approvedBusiness()
    const [silent, other] = [await bought(world, made), await bought(world, made)]
    const { registry } = world.ports
    const register = registry.register.bind(registry)
    let isSilent = true
    vi.spyOn(registry, "register").mockImplementation(async (number) => {
      if (isSilent && number.number === silent.number) throw new ProviderSilent("it answered 409")
      return register(number)
    })
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign")
    await world.operate("wait")
    const statusesOf = async () => {
      const { parts } = await statusOf(world, made)
      const of = ({ id }: { readonly id: string }) =>
        parts.find(({ part }: { part: string }) => part === `number:${id}`)?.status
      return [of(silent), of(other)]
    }
    expect(await statusesOf()).toEqual([expect.not.stringMatching("approved"), "approved"])
    isSilent = false
    await tryAgain(world, made.companyId, "register-numbers")
    expect(await statusesOf()).toEqual(["approved", "approved"])
  })
})
