/** Sending for review: what it costs, what carriers say, and which numbers can text by it. */
import { describe, expect, it, vi } from "vitest"
import { ProviderOutcomeUnknown } from "../../adapters/providers/provider-errors.ts"
import { buyNumberForId } from "../phone/number-orders.ts"
import { retryJobsOf } from "../effects/texts.ts"
import { postText } from "../phone/text-requests.ts"
import {
  setReviewOutcome,
  callPhoneRoute,
  reviewFeesOf,
  partStatusLine,
  requestBusinessReview,
  requestCampaignReview,
  registrationStatusOf,
  BRAND_FEE_LINE,
  LIVE_BUSINESS,
  ownReviewWorld,
  BUSINESS_INPUT,
} from "./registration-world.ts"
import { fundsMicrosOf, makeKey } from "../support/world.ts"

const { world, registryIs, advance, company, approvedBusiness } = await ownReviewWorld()
const CAMPAIGN = "campaign_fee 15000000"

describe("test mode", () => {
  it("goes from nothing to approved for nothing", async () => {
    const made = await company()
    const before = await fundsMicrosOf(world, made)
    expect(await registrationStatusOf(world, made)).toEqual({
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
    const business = await requestBusinessReview(world, made)
    // The campaign could be sent by now, and was not.
    expect([business.status, business.body.overall]).toEqual([200, "not_sent"])
    const campaign = await requestCampaignReview(world, made)
    expect([campaign.status, campaign.body.overall]).toEqual([200, "waiting"])
    const confirmed = await callPhoneRoute(world, made, "POST registration/confirm")
    expect([confirmed.status, confirmed.body.overall]).toEqual([200, "approved"])
    expect(await reviewFeesOf(world, made)).toEqual([])
    expect(before - (await fundsMicrosOf(world, made))).toBeLessThan(10_000)
    const again = await callPhoneRoute(world, made, "POST registration/confirm")
    expect([again.status, again.body.error]).toEqual([409, "conflict"])
  })

  it("answers the same request again with the same, though nothing was charged", async () => {
    const made = await company()
    const key = { "idempotency-key": "free" }
    const first = await requestBusinessReview(world, made, {}, key)
    const again = await requestBusinessReview(world, made, {}, key)
    expect(again.body).toEqual(first.body)
    expect(again.status).toBe(200)
    const other = await requestBusinessReview(world, made)
    expect([other.status, other.body.error]).toEqual([409, "conflict"])
  })

  it("lets every number text, and ends once it is meant: then only approved ones do", async () => {
    const made = await company()
    expect((await postText(world, made.key)).status).toBe(200)
    await requestBusinessReview(world, made)
    await requestCampaignReview(world, made)
    await callPhoneRoute(world, made, "POST registration/confirm")
    const meant = await requestBusinessReview(world, made, LIVE_BUSINESS)
    expect(meant.body).toMatchObject({ testMode: false, overall: "waiting" })
    expect(await partStatusLine(world, made)).toBe("business waiting, campaign not_sent")
    const text = await postText(world, made.key)
    expect([text.status, text.body.error]).toEqual([409, "no_number"])
    expect(text.body.message).toContain("/api/v1/phone/registration")
    const confirmed = await callPhoneRoute(world, made, "POST registration/confirm")
    expect([confirmed.status, confirmed.body.error]).toEqual([409, "conflict"])
  })
})

describe("a review that is meant", () => {
  it("is charged when it is sent, and the fee is kept once carriers have it", async () => {
    const made = await company()
    await requestBusinessReview(world, made, LIVE_BUSINESS)
    expect(await reviewFeesOf(world, made)).toEqual([`${BRAND_FEE_LINE} final`])
    await setReviewOutcome(world, made, "business")
    await requestCampaignReview(world, made)
    expect(await reviewFeesOf(world, made)).toEqual([
      `${BRAND_FEE_LINE} final`,
      `${CAMPAIGN} final`,
    ])
    expect(await partStatusLine(world, made)).toBe("business approved, campaign waiting")
  })

  it("is one charge with rush", async () => {
    const made = await approvedBusiness()
    await requestCampaignReview(world, made, { rush: true })
    expect((await reviewFeesOf(world, made)).slice(1)).toEqual(["campaign_fee_rush 44000000 final"])
  })

  it("is refused where it does not fit the funds, and nothing is sent", async () => {
    const made = await company("4")
    const { status, body } = await requestBusinessReview(world, made, LIVE_BUSINESS)
    expect([status, body.error]).toEqual([402, "payment_required"])
    expect(await partStatusLine(world, made)).toMatch(/^business not_sent/)
    expect((await registrationStatusOf(world, made)).testMode).toBe(true)
  })

  it("is of a sole proprietor or of nobody who is one", async () => {
    const made = await company()
    const { status, body } = await requestBusinessReview(world, made, {
      brandType: "sole_proprietor",
    })
    expect([status, Object.keys(body.fields)]).toEqual([400, ["brandType"]])
  })

  it("is sent once where another person sends it at the same time, and paid once", async () => {
    const made = await company()
    const { key } = await makeKey(world, made, { role: "admin" })
    const answers = await Promise.all(
      [made, { key }].map((one) => requestBusinessReview(world, one, LIVE_BUSINESS)),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const fees = await reviewFeesOf(world, made)
    expect(fees.filter((one) => one !== `${BRAND_FEE_LINE} given_back`)).toEqual([
      `${BRAND_FEE_LINE} final`,
    ])
  })
})

describe("carriers that cannot be reached", () => {
  it("have the whole fee given back, and the same may be sent again", async () => {
    const made = await company()
    await registryIs("unavailable", 1)
    const key = { "idempotency-key": "away" }
    const { status, body } = await requestBusinessReview(world, made, LIVE_BUSINESS, key)
    expect([status, body.error]).toEqual([503, "unavailable"])
    expect(await reviewFeesOf(world, made)).toEqual([`${BRAND_FEE_LINE} given_back`])
    expect(await partStatusLine(world, made)).toMatch(/^business not_sent/)
    expect((await requestBusinessReview(world, made, LIVE_BUSINESS, key)).status).toBe(200)
    expect(await reviewFeesOf(world, made)).toEqual([
      `${BRAND_FEE_LINE} given_back`,
      `${BRAND_FEE_LINE} final`,
    ])
  })

  it("are asked what became of it where they are silent: it waits meanwhile, and is paid once", async () => {
    const made = await company()
    await registryIs("silent", 1)
    const { status, body } = await requestBusinessReview(world, made, LIVE_BUSINESS)
    expect([status, body.overall]).toEqual([200, "waiting"])
    expect(await reviewFeesOf(world, made)).toEqual([`${BRAND_FEE_LINE} open`])
    await advance("2m")
    expect(await reviewFeesOf(world, made)).toEqual([`${BRAND_FEE_LINE} final`])
    await setReviewOutcome(world, made, "business")
    expect(await partStatusLine(world, made)).toBe("business approved, campaign not_sent")
  })
})

describe("a campaign that a reviewer would refuse", () => {
  it("is not sent, and its fee is not paid", async () => {
    const made = await approvedBusiness()
    const draft = await callPhoneRoute(world, made, "POST campaign/draft")
    const samples = ["Your order is ready: bit.ly/1 or so.", "And another one of these texts."]
    await callPhoneRoute(world, made, "PUT campaign", {
      ...draft.body,
      brandType: "standard",
      samples,
    })
    const { status, body } = await requestCampaignReview(world, made)
    expect([status, body.error, body.reasons.length]).toEqual([409, "conflict", 5])
    expect(body.reasons[0]).toContain("sent as low_volume")
    expect(await reviewFeesOf(world, made)).toEqual([`${BRAND_FEE_LINE} final`])
  })
})

describe("a number of which the registry says nothing", () => {
  it("is asked about again, and keeps no other number from being registered", async () => {
    const made = await approvedBusiness()
    const [silent, other] = [await buyNumberForId(world, made), await buyNumberForId(world, made)]
    const { registry } = world.ports
    const register = registry.registerNumber.bind(registry)
    let isSilent = true
    vi.spyOn(registry, "registerNumber").mockImplementation(async (number) => {
      if (isSilent && number.number === silent.number)
        throw new ProviderOutcomeUnknown("it answered 409")
      return register(number)
    })
    await requestCampaignReview(world, made)
    await setReviewOutcome(world, made, "campaign")
    await world.operate("wait")
    const statusesOf = async () => {
      const { parts } = await registrationStatusOf(world, made)
      const of = ({ id }: { readonly id: string }) =>
        parts.find(({ part }: { part: string }) => part === `number:${id}`)?.status
      return [of(silent), of(other)]
    }
    expect(await statusesOf()).toEqual([expect.not.stringMatching("approved"), "approved"])
    isSilent = false
    await retryJobsOf(world, made.companyId, "register-numbers")
    expect(await statusesOf()).toEqual(["approved", "approved"])
  })
})

describe("what carriers say", () => {
  it("is asked for, more and more seldom, and shown with its reasons", async () => {
    const made = await company()
    await requestBusinessReview(world, made, LIVE_BUSINESS)
    await advance("3d")
    expect(await partStatusLine(world, made)).toMatch(/^business waiting/)
    await registryIs("reject")
    await advance("1d")
    const { parts, overall } = await registrationStatusOf(world, made)
    expect(overall).toBe("rejected")
    expect(parts[0].reasons).toEqual(["The simulated registry is set to reject it."])
  })

  it("is corrected within what carriers take of a correction, and 400 before its fee", async () => {
    const made = await approvedBusiness()
    await requestCampaignReview(world, made)
    await setReviewOutcome(world, made, "campaign", "action-needed")
    const fees = await reviewFeesOf(world, made)
    const draft = (await callPhoneRoute(world, made, "POST campaign/draft")).body
    const long = `${String(draft.samples[0])} ${"x".repeat(255)}`
    const campaign = { ...draft, brandType: "low_volume" }
    const saved = await callPhoneRoute(world, made, "PUT campaign", {
      ...campaign,
      samples: [draft.samples[0], long],
    })
    expect(saved.body.problems).toContainEqual(
      expect.objectContaining({ where: "samples.1", code: "too_long" }),
    )
    const refused = await requestCampaignReview(world, made, { rush: true })
    expect([refused.status, refused.body.error]).toEqual([400, "validation"])
    expect(Object.keys(refused.body.fields)).toEqual(["samples.1"])
    expect(await reviewFeesOf(world, made)).toEqual(fees)
    await callPhoneRoute(world, made, "PUT campaign", campaign)
    expect((await requestCampaignReview(world, made)).status).toBe(200)
  })

  it("is 400 before the fee where a toll-free number could not be verified by it", async () => {
    const made = await approvedBusiness()
    await buyNumberForId(world, made, "+18005550142")
    const draft = (await callPhoneRoute(world, made, "POST campaign/draft")).body
    const messageFlow = `${String(draft.messageFlow)} ${"x".repeat(500)}`
    await callPhoneRoute(world, made, "PUT campaign", {
      ...draft,
      messageFlow,
      brandType: "low_volume",
    })
    const fees = await reviewFeesOf(world, made)
    const refused = await requestCampaignReview(world, made)
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([400, ["messageFlow"]])
    expect(await reviewFeesOf(world, made)).toEqual(fees)
  })

  it("on a number is asked for again as soon as the campaign is corrected", async () => {
    const made = await approvedBusiness()
    await requestCampaignReview(world, made)
    await setReviewOutcome(world, made, "campaign")
    await world.operate("wait")
    await registryIs("reject", 1)
    await buyNumberForId(world, made)
    await world.operate("wait")
    expect(await partStatusLine(world, made)).toContain("number rejected")
    const draft = (await callPhoneRoute(world, made, "POST campaign/draft")).body
    const description = `${String(draft.description)} Nothing else is texted.`
    await callPhoneRoute(world, made, "PUT campaign", {
      ...draft,
      description,
      brandType: "low_volume",
    })
    await world.operate("wait")
    expect(await partStatusLine(world, made)).not.toContain("number rejected")
  })

  it("is no answer to what they do not have", async () => {
    const made = await company()
    for (const part of ["business", "campaign"]) {
      await expect(setReviewOutcome(world, made, part)).rejects.toThrow("This part is not waiting")
    }
    await expect(setReviewOutcome(world, made, "number:num_1")).rejects.toThrow("has no number")
  })

  it("has the numbers of an approved campaign registered, also those that are bought later", async () => {
    const made = await approvedBusiness()
    const { id } = await buyNumberForId(world, made)
    await requestCampaignReview(world, made)
    expect((await postText(world, made.key)).body.error).toBe("no_number")
    await setReviewOutcome(world, made, "campaign")
    await world.operate("wait")
    expect(await partStatusLine(world, made)).toBe(
      "business approved, campaign approved, number approved",
    )
    expect((await postText(world, made.key)).status).toBe(200)
    const later = await buyNumberForId(world, made)
    await world.operate("wait")
    const { parts, overall } = await registrationStatusOf(world, made)
    expect(overall).toBe("approved")
    expect(parts.map(({ part }: { part: string }) => part).slice(2)).toEqual([
      `number:${id}`,
      `number:${later.id}`,
    ])
    expect((await postText(world, made.key, { from: later.id })).status).toBe(200)
  })

  it("takes texting away where an approval is taken back, and gives it again", async () => {
    const made = await approvedBusiness()
    await buyNumberForId(world, made)
    await requestCampaignReview(world, made)
    await setReviewOutcome(world, made, "campaign")
    await world.operate("wait")
    await setReviewOutcome(world, made, "campaign", "action-needed", "Suspended.")
    const refused = await postText(world, made.key)
    expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
    expect((await registrationStatusOf(world, made)).overall).toBe("action_needed")
    await setReviewOutcome(world, made, "campaign")
    expect((await postText(world, made.key)).status).toBe(200)
  })

  it("goes with its company: its campaign is ended, and nothing personal is left", async () => {
    const made = await approvedBusiness()
    await requestCampaignReview(world, made)
    const { name } = await world.operate("company show", { company: made.companyId })
    await world.operate("company delete", { company: made.companyId, confirm: name })
    await advance("15d")
    const { jobs: work } = await world.operate("job list")
    expect(work.filter(({ state }: { state: string }) => state === "stuck")).toEqual([])
  })
})

describe("a code of a sole proprietor", () => {
  it("is given back by an operator, and then the business is approved", async () => {
    const made = await company()
    const give = (pin: string) =>
      world.operate("registration code", { company: made.companyId, pin })
    await expect(give("123456")).rejects.toThrow("This part is not waiting")
    const sole = { entityType: "sole_proprietor", brandName: "Ada Lane Bakes" }
    await callPhoneRoute(world, made, "PUT business", { ...BUSINESS_INPUT, ...sole })
    await requestBusinessReview(world, made, { live: true, brandType: "sole_proprietor" })
    const [business] = (await registrationStatusOf(world, made)).parts
    expect(business).toMatchObject({ status: "action_needed" })
    await expect(give("1234")).rejects.toThrow("rejected this code")
    expect((await give("123456")).status).toBe("approved")
  })
})

describe("what an operator says for carriers", () => {
  it("stands nowhere in clear", async () => {
    const made = await company()
    await requestBusinessReview(world, made, LIVE_BUSINESS)
    await setReviewOutcome(world, made, "business", "rejected", "Ada Lane is somebody else.")
    const { events } = await world.operate("audit show", {
      stream: `registration-${made.companyId}`,
    })
    expect(JSON.stringify(events)).not.toContain("Ada Lane")
    const [business] = (await registrationStatusOf(world, made)).parts
    expect(business.reasons).toEqual(["Ada Lane is somebody else."])
  })
})
