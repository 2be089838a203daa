/** Submitting for review: fees, verdicts of carriers, and the numbers that can text. */
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

const { world, simulateRegistry, advance, makeSavedCompany, makeApprovedBusiness } =
  await ownReviewWorld()
const CAMPAIGN = "campaign_fee 15000000"

describe("test mode", () => {
  it("leads to an approved registration without fees", async () => {
    const company = await makeSavedCompany()
    const before = await fundsMicrosOf(world, company)
    expect(await registrationStatusOf(world, company)).toEqual({
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
    const business = await requestBusinessReview(world, company)
    // The campaign can be submitted, and has not been.
    expect([business.status, business.body.overall]).toEqual([200, "not_sent"])
    const campaign = await requestCampaignReview(world, company)
    expect([campaign.status, campaign.body.overall]).toEqual([200, "waiting"])
    const confirmed = await callPhoneRoute(world, company, "POST registration/confirm")
    expect([confirmed.status, confirmed.body.overall]).toEqual([200, "approved"])
    expect(await reviewFeesOf(world, company)).toEqual([])
    expect(before - (await fundsMicrosOf(world, company))).toBeLessThan(10_000)
    const again = await callPhoneRoute(world, company, "POST registration/confirm")
    expect([again.status, again.body.error]).toEqual([409, "conflict"])
  })

  it("replays a request with the same Idempotency-Key, although there is no charge", async () => {
    const company = await makeSavedCompany()
    const key = { "idempotency-key": "free" }
    const first = await requestBusinessReview(world, company, {}, key)
    const again = await requestBusinessReview(world, company, {}, key)
    expect(again.body).toEqual(first.body)
    expect(again.status).toBe(200)
    const other = await requestBusinessReview(world, company)
    expect([other.status, other.body.error]).toEqual([409, "conflict"])
  })

  it("allows all numbers to text; after a live submission, only approved ones can", async () => {
    const company = await makeSavedCompany()
    expect((await postText(world, company.key)).status).toBe(200)
    await requestBusinessReview(world, company)
    await requestCampaignReview(world, company)
    await callPhoneRoute(world, company, "POST registration/confirm")
    const live = await requestBusinessReview(world, company, LIVE_BUSINESS)
    expect(live.body).toMatchObject({ testMode: false, overall: "waiting" })
    expect(await partStatusLine(world, company)).toBe("business waiting, campaign not_sent")
    const text = await postText(world, company.key)
    expect([text.status, text.body.error]).toEqual([409, "no_number"])
    expect(text.body.message).toContain("/api/v1/phone/registration")
    const confirmed = await callPhoneRoute(world, company, "POST registration/confirm")
    expect([confirmed.status, confirmed.body.error]).toEqual([409, "conflict"])
  })
})

describe("a live submission", () => {
  it("is charged when it is sent, and the fee is settled once carriers have it", async () => {
    const company = await makeSavedCompany()
    await requestBusinessReview(world, company, LIVE_BUSINESS)
    expect(await reviewFeesOf(world, company)).toEqual([`${BRAND_FEE_LINE} final`])
    await setReviewOutcome(world, company, "business")
    await requestCampaignReview(world, company)
    expect(await reviewFeesOf(world, company)).toEqual([
      `${BRAND_FEE_LINE} final`,
      `${CAMPAIGN} final`,
    ])
    expect(await partStatusLine(world, company)).toBe("business approved, campaign waiting")
  })

  it("with rush has a single charge", async () => {
    const company = await makeApprovedBusiness()
    await requestCampaignReview(world, company, { rush: true })
    expect((await reviewFeesOf(world, company)).slice(1)).toEqual([
      "campaign_fee_rush 44000000 final",
    ])
  })

  it("is rejected without enough funds, and not sent", async () => {
    const company = await makeSavedCompany("4")
    const { status, body } = await requestBusinessReview(world, company, LIVE_BUSINESS)
    expect([status, body.error]).toEqual([402, "payment_required"])
    expect(await partStatusLine(world, company)).toMatch(/^business not_sent/)
    expect((await registrationStatusOf(world, company)).testMode).toBe(true)
  })

  it("cannot be of a sole proprietor if the business is a company", async () => {
    const company = await makeSavedCompany()
    const { status, body } = await requestBusinessReview(world, company, {
      brandType: "sole_proprietor",
    })
    expect([status, Object.keys(body.fields)]).toEqual([400, ["brandType"]])
  })

  it("is sent and paid once if two persons submit it concurrently", async () => {
    const company = await makeSavedCompany()
    const { key } = await makeKey(world, company, { role: "admin" })
    const answers = await Promise.all(
      [company, { key }].map((one) => requestBusinessReview(world, one, LIVE_BUSINESS)),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const fees = await reviewFeesOf(world, company)
    expect(fees.filter((one) => one !== `${BRAND_FEE_LINE} given_back`)).toEqual([
      `${BRAND_FEE_LINE} final`,
    ])
  })
})

describe("an unreachable registry", () => {
  it("causes a full refund of the fee, and the submission can be repeated", async () => {
    const company = await makeSavedCompany()
    await simulateRegistry("unavailable", 1)
    const key = { "idempotency-key": "away" }
    const { status, body } = await requestBusinessReview(world, company, LIVE_BUSINESS, key)
    expect([status, body.error]).toEqual([503, "unavailable"])
    expect(await reviewFeesOf(world, company)).toEqual([`${BRAND_FEE_LINE} given_back`])
    expect(await partStatusLine(world, company)).toMatch(/^business not_sent/)
    expect((await requestBusinessReview(world, company, LIVE_BUSINESS, key)).status).toBe(200)
    expect(await reviewFeesOf(world, company)).toEqual([
      `${BRAND_FEE_LINE} given_back`,
      `${BRAND_FEE_LINE} final`,
    ])
  })

  it("that does not answer is asked for the status; the submission waits and is paid once", async () => {
    const company = await makeSavedCompany()
    await simulateRegistry("silent", 1)
    const { status, body } = await requestBusinessReview(world, company, LIVE_BUSINESS)
    expect([status, body.overall]).toEqual([200, "waiting"])
    expect(await reviewFeesOf(world, company)).toEqual([`${BRAND_FEE_LINE} open`])
    await advance("2m")
    expect(await reviewFeesOf(world, company)).toEqual([`${BRAND_FEE_LINE} final`])
    await setReviewOutcome(world, company, "business")
    expect(await partStatusLine(world, company)).toBe("business approved, campaign not_sent")
  })
})

describe("a campaign with problems", () => {
  it("is not sent, and costs no fee", async () => {
    const company = await makeApprovedBusiness()
    const draft = await callPhoneRoute(world, company, "POST campaign/draft")
    const samples = ["Your order is ready: bit.ly/1 or so.", "And another one of these texts."]
    await callPhoneRoute(world, company, "PUT campaign", {
      ...draft.body,
      brandType: "standard",
      samples,
    })
    const { status, body } = await requestCampaignReview(world, company)
    expect([status, body.error, body.reasons.length]).toEqual([409, "conflict", 5])
    expect(body.reasons[0]).toContain("sent as low_volume")
    expect(await reviewFeesOf(world, company)).toEqual([`${BRAND_FEE_LINE} final`])
  })
})

describe("a number with an unknown outcome", () => {
  it("is reconciled later, and does not block the registration of other numbers", async () => {
    const company = await makeApprovedBusiness()
    const [silent, other] = [
      await buyNumberForId(world, company),
      await buyNumberForId(world, company),
    ]
    const { registry } = world.ports
    const register = registry.registerNumber.bind(registry)
    let isSilent = true
    vi.spyOn(registry, "registerNumber").mockImplementation(async (number) => {
      if (isSilent && number.number === silent.number)
        throw new ProviderOutcomeUnknown("it answered 409")
      return register(number)
    })
    await requestCampaignReview(world, company)
    await setReviewOutcome(world, company, "campaign")
    await world.operate("wait")
    const statusesOf = async () => {
      const { parts } = await registrationStatusOf(world, company)
      const statusOf = ({ id }: { readonly id: string }) =>
        parts.find(({ part }: { part: string }) => part === `number:${id}`)?.status
      return [statusOf(silent), statusOf(other)]
    }
    expect(await statusesOf()).toEqual([expect.not.stringMatching("approved"), "approved"])
    isSilent = false
    await retryJobsOf(world, company.companyId, "register-numbers")
    expect(await statusesOf()).toEqual(["approved", "approved"])
  })
})

describe("a verdict of carriers", () => {
  it("is requested at growing intervals, and shown with its reasons", async () => {
    const company = await makeSavedCompany()
    await requestBusinessReview(world, company, LIVE_BUSINESS)
    await advance("3d")
    expect(await partStatusLine(world, company)).toMatch(/^business waiting/)
    await simulateRegistry("reject")
    await advance("1d")
    const { parts, overall } = await registrationStatusOf(world, company)
    expect(overall).toBe("rejected")
    expect(parts[0].reasons).toEqual(["The simulated registry is set to reject it."])
  })

  it("that needs a correction is 400 before the fee if the correction is too long", async () => {
    const company = await makeApprovedBusiness()
    await requestCampaignReview(world, company)
    await setReviewOutcome(world, company, "campaign", "action-needed")
    const fees = await reviewFeesOf(world, company)
    const draft = (await callPhoneRoute(world, company, "POST campaign/draft")).body
    const long = `${String(draft.samples[0])} ${"x".repeat(255)}`
    const campaign = { ...draft, brandType: "low_volume" }
    const saved = await callPhoneRoute(world, company, "PUT campaign", {
      ...campaign,
      samples: [draft.samples[0], long],
    })
    expect(saved.body.problems).toContainEqual(
      expect.objectContaining({ where: "samples.1", code: "too_long" }),
    )
    const refused = await requestCampaignReview(world, company, { rush: true })
    expect([refused.status, refused.body.error]).toEqual([400, "validation"])
    expect(Object.keys(refused.body.fields)).toEqual(["samples.1"])
    expect(await reviewFeesOf(world, company)).toEqual(fees)
    await callPhoneRoute(world, company, "PUT campaign", campaign)
    expect((await requestCampaignReview(world, company)).status).toBe(200)
  })
})

describe("a campaign that is too long for a toll-free number", () => {
  it("is 400 before the fee", async () => {
    const company = await makeApprovedBusiness()
    await buyNumberForId(world, company, "+18005550142")
    const draft = (await callPhoneRoute(world, company, "POST campaign/draft")).body
    const messageFlow = `${String(draft.messageFlow)} ${"x".repeat(500)}`
    await callPhoneRoute(world, company, "PUT campaign", {
      ...draft,
      messageFlow,
      brandType: "low_volume",
    })
    const fees = await reviewFeesOf(world, company)
    const refused = await requestCampaignReview(world, company)
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([400, ["messageFlow"]])
    expect(await reviewFeesOf(world, company)).toEqual(fees)
  })
})

describe("a verdict on a number or a part", () => {
  it("is requested again for a rejected number as soon as the campaign is corrected", async () => {
    const company = await makeApprovedBusiness()
    await requestCampaignReview(world, company)
    await setReviewOutcome(world, company, "campaign")
    await world.operate("wait")
    await simulateRegistry("reject", 1)
    await buyNumberForId(world, company)
    await world.operate("wait")
    expect(await partStatusLine(world, company)).toContain("number rejected")
    const draft = (await callPhoneRoute(world, company, "POST campaign/draft")).body
    const description = `${String(draft.description)} Nothing else is texted.`
    await callPhoneRoute(world, company, "PUT campaign", {
      ...draft,
      description,
      brandType: "low_volume",
    })
    await world.operate("wait")
    expect(await partStatusLine(world, company)).not.toContain("number rejected")
  })

  it("cannot be set for a part that was not submitted", async () => {
    const company = await makeSavedCompany()
    for (const part of ["business", "campaign"]) {
      await expect(setReviewOutcome(world, company, part)).rejects.toThrow(
        "This part is not waiting",
      )
    }
    await expect(setReviewOutcome(world, company, "number:num_1")).rejects.toThrow("has no number")
  })

  it("that approves a campaign registers all numbers, including those bought later", async () => {
    const company = await makeApprovedBusiness()
    const { id } = await buyNumberForId(world, company)
    await requestCampaignReview(world, company)
    expect((await postText(world, company.key)).body.error).toBe("no_number")
    await setReviewOutcome(world, company, "campaign")
    await world.operate("wait")
    expect(await partStatusLine(world, company)).toBe(
      "business approved, campaign approved, number approved",
    )
    expect((await postText(world, company.key)).status).toBe(200)
    const later = await buyNumberForId(world, company)
    await world.operate("wait")
    const { parts, overall } = await registrationStatusOf(world, company)
    expect(overall).toBe("approved")
    expect(parts.map(({ part }: { part: string }) => part).slice(2)).toEqual([
      `number:${id}`,
      `number:${later.id}`,
    ])
    expect((await postText(world, company.key, { from: later.id })).status).toBe(200)
  })

  it("that withdraws an approval stops texting until the next approval", async () => {
    const company = await makeApprovedBusiness()
    await buyNumberForId(world, company)
    await requestCampaignReview(world, company)
    await setReviewOutcome(world, company, "campaign")
    await world.operate("wait")
    await setReviewOutcome(world, company, "campaign", "action-needed", "Suspended.")
    const refused = await postText(world, company.key)
    expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
    expect((await registrationStatusOf(world, company)).overall).toBe("action_needed")
    await setReviewOutcome(world, company, "campaign")
    expect((await postText(world, company.key)).status).toBe(200)
  })
})

describe("the registration of a deleted company", () => {
  it("ends its campaign, and leaves no stuck job", async () => {
    const company = await makeApprovedBusiness()
    await requestCampaignReview(world, company)
    const { name } = await world.operate("company show", { company: company.companyId })
    await world.operate("company delete", { company: company.companyId, confirm: name })
    await advance("15d")
    const { jobs } = await world.operate("job list")
    expect(jobs.filter(({ state }: { state: string }) => state === "stuck")).toEqual([])
  })
})

describe("the code of a sole proprietor", () => {
  it("is entered by an operator, which approves the business", async () => {
    const company = await makeSavedCompany()
    const enterCode = (pin: string) =>
      world.operate("registration code", { company: company.companyId, pin })
    await expect(enterCode("123456")).rejects.toThrow("This part is not waiting")
    const sole = { entityType: "sole_proprietor", brandName: "Ada Lowe Bakes" }
    await callPhoneRoute(world, company, "PUT business", { ...BUSINESS_INPUT, ...sole })
    await requestBusinessReview(world, company, { live: true, brandType: "sole_proprietor" })
    const [business] = (await registrationStatusOf(world, company)).parts
    expect(business).toMatchObject({ status: "action_needed" })
    await expect(enterCode("1234")).rejects.toThrow("rejected this code")
    expect((await enterCode("123456")).status).toBe("approved")
  })
})

describe("the reason of a verdict", () => {
  it("is sealed in the events", async () => {
    const company = await makeSavedCompany()
    await requestBusinessReview(world, company, LIVE_BUSINESS)
    await setReviewOutcome(world, company, "business", "rejected", "Ada Lowe is another person.")
    const { events } = await world.operate("audit show", {
      stream: `registration-${company.companyId}`,
    })
    expect(JSON.stringify(events)).not.toContain("Ada Lowe")
    const [business] = (await registrationStatusOf(world, company)).parts
    expect(business.reasons).toEqual(["Ada Lowe is another person."])
  })
})
