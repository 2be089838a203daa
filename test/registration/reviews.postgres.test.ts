/** Sending for review: what it costs, what carriers say, and which numbers can text by it. */
import { describe, expect, it, vi } from "vitest"
import { ProviderSilent } from "../../adapters/providers/outside.ts"
import { bought } from "../phone/numbering.ts"
import { tryAgain } from "../effects/texts.ts"
import { sendText } from "../phone/texting.ts"
import {
  answerAs,
  asked,
  feesOf,
  partsOf,
  sendBusiness,
  sendCampaign,
  statusOf,
  BRAND,
  LIVE,
  reviewing,
  BUSINESS,
} from "./registering.ts"
import { fundsOf, makeKey } from "../support/world.ts"

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

  it("is of a sole proprietor or of nobody who is one", async () => {
    const made = await company()
    const { status, body } = await sendBusiness(world, made, { brandType: "sole_proprietor" })
    expect([status, Object.keys(body.fields)]).toEqual([400, ["brandType"]])
  })

  it("is sent once where another person sends it at the same time, and paid once", async () => {
    const made = await company()
    const { key } = await makeKey(world, made, { role: "admin" })
    const answers = await Promise.all([made, { key }].map((one) => sendBusiness(world, one, LIVE)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const fees = await feesOf(world, made)
    expect(fees.filter((one) => one !== `${BRAND} given_back`)).toEqual([`${BRAND} final`])
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

describe("what carriers say", () => {
  it("is asked for, more and more seldom, and shown with its reasons", async () => {
    const made = await company()
    await sendBusiness(world, made, LIVE)
    await advance("3d")
    expect(await partsOf(world, made)).toMatch(/^business waiting/)
    await registryIs("reject")
    await advance("1d")
    const { parts, overall } = await statusOf(world, made)
    expect(overall).toBe("rejected")
    expect(parts[0].reasons).toEqual(["The stand-in of the registry was told to reject it."])
  })

  it("is corrected within what carriers take of a correction, and 400 before its fee", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign", "action-needed")
    const fees = await feesOf(world, made)
    const draft = (await asked(world, made, "POST campaign/draft")).body
    const long = `${String(draft.samples[0])} ${"x".repeat(255)}`
    const campaign = { ...draft, brandType: "low_volume" }
    const saved = await asked(world, made, "PUT campaign", {
      ...campaign,
      samples: [draft.samples[0], long],
    })
    expect(saved.body.problems).toContainEqual(
      expect.objectContaining({ where: "samples.1", code: "too_long" }),
    )
    const refused = await sendCampaign(world, made, { rush: true })
    expect([refused.status, refused.body.error]).toEqual([400, "validation"])
    expect(Object.keys(refused.body.fields)).toEqual(["samples.1"])
    expect(await feesOf(world, made)).toEqual(fees)
    await asked(world, made, "PUT campaign", campaign)
    expect((await sendCampaign(world, made)).status).toBe(200)
  })

  it("is 400 before the fee where a toll-free number could not be verified by it", async () => {
    const made = await approvedBusiness()
    await bought(world, made, "+18005550142")
    const draft = (await asked(world, made, "POST campaign/draft")).body
    const messageFlow = `${String(draft.messageFlow)} ${"x".repeat(500)}`
    await asked(world, made, "PUT campaign", { ...draft, messageFlow, brandType: "low_volume" })
    const fees = await feesOf(world, made)
    const refused = await sendCampaign(world, made)
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([400, ["messageFlow"]])
    expect(await feesOf(world, made)).toEqual(fees)
  })

  it("on a number is asked for again as soon as the campaign is corrected", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign")
    await world.operate("wait")
    await registryIs("reject", 1)
    await bought(world, made)
    await world.operate("wait")
    expect(await partsOf(world, made)).toContain("number rejected")
    const draft = (await asked(world, made, "POST campaign/draft")).body
    const description = `${String(draft.description)} Nothing else is texted.`
    await asked(world, made, "PUT campaign", { ...draft, description, brandType: "low_volume" })
    await world.operate("wait")
    expect(await partsOf(world, made)).not.toContain("number rejected")
  })

  it("is no answer to what they do not have", async () => {
    const made = await company()
    for (const part of ["business", "campaign"]) {
      await expect(answerAs(world, made, part)).rejects.toThrow("nothing of this part")
    }
    await expect(answerAs(world, made, "number:num_1")).rejects.toThrow("No number")
  })

  it("has the numbers of an approved campaign registered, also those that are bought later", async () => {
    const made = await approvedBusiness()
    const { id } = await bought(world, made)
    await sendCampaign(world, made)
    expect((await sendText(world, made.key)).body.error).toBe("no_number")
    await answerAs(world, made, "campaign")
    await world.operate("wait")
    expect(await partsOf(world, made)).toBe("business approved, campaign approved, number approved")
    expect((await sendText(world, made.key)).status).toBe(200)
    const later = await bought(world, made)
    await world.operate("wait")
    const { parts, overall } = await statusOf(world, made)
    expect(overall).toBe("approved")
    expect(parts.map(({ part }: { part: string }) => part).slice(2)).toEqual([
      `number:${id}`,
      `number:${later.id}`,
    ])
    expect((await sendText(world, made.key, { from: later.id })).status).toBe(200)
  })

  it("takes texting away where an approval is taken back, and gives it again", async () => {
    const made = await approvedBusiness()
    await bought(world, made)
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign")
    await world.operate("wait")
    await answerAs(world, made, "campaign", "action-needed", "Suspended.")
    const refused = await sendText(world, made.key)
    expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
    expect((await statusOf(world, made)).overall).toBe("action_needed")
    await answerAs(world, made, "campaign")
    expect((await sendText(world, made.key)).status).toBe(200)
  })

  it("goes with its company: its campaign is ended, and nothing personal is left", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made)
    const { name } = await world.operate("company show", { company: made.companyId })
    await world.operate("company delete", { company: made.companyId, confirm: name })
    await advance("15d")
    const { work } = await world.operate("job list")
    expect(work.filter(({ state }: { state: string }) => state === "parked")).toEqual([])
  })
})

describe("a code of a sole proprietor", () => {
  it("is given back by an operator, and then the business is approved", async () => {
    const made = await company()
    const give = (pin: string) =>
      world.operate("registration code", { company: made.companyId, pin })
    await expect(give("123456")).rejects.toThrow("nothing of this part")
    const sole = { entityType: "sole_proprietor", brandName: "Ada Lane Bakes" }
    await asked(world, made, "PUT business", { ...BUSINESS, ...sole })
    await sendBusiness(world, made, { live: true, brandType: "sole_proprietor" })
    const [business] = (await statusOf(world, made)).parts
    expect(business).toMatchObject({ status: "action_needed" })
    await expect(give("1234")).rejects.toThrow("does not take")
    expect((await give("123456")).status).toBe("approved")
  })
})

describe("what an operator says for carriers", () => {
  it("stands nowhere in clear", async () => {
    const made = await company()
    await sendBusiness(world, made, LIVE)
    await answerAs(world, made, "business", "rejected", "Ada Lane is somebody else.")
    const { events } = await world.operate("audit show", {
      stream: `registration-${made.companyId}`,
    })
    expect(JSON.stringify(events)).not.toContain("Ada Lane")
    const [business] = (await statusOf(world, made)).parts
    expect(business.reasons).toEqual(["Ada Lane is somebody else."])
  })
})
