/** Campaigns and numbers at Telnyx: our requests, and its answers translated into our terms. */
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import {
  REVIEWED_BUSINESS,
  REVIEWED_CAMPAIGN,
  submissionQueryOf,
  newBusinessSubmission,
  newCampaignSubmission,
  newNumberRegistration,
  openTelnyxRegistryFixture,
  acceptedReferenceIn,
} from "../support/registrations.ts"

const telnyx = await openTelnyxRegistryFixture()
afterAll(() => telnyx.server.close())
beforeEach(() => {
  telnyx.server.requests.length = 0
  telnyx.server.vendorFaults.length = 0
})

const SENTENCE = [expect.stringMatching(/^[A-Z].*\.$/)]
const submitBusiness = async () =>
  acceptedReferenceIn(await telnyx.registry.submit(newBusinessSubmission()))
const submitCampaign = async () =>
  acceptedReferenceIn(await telnyx.registry.submit(newCampaignSubmission(await submitBusiness())))

describe("a campaign", () => {
  it.each([
    ["TCR_PENDING", "waiting"],
    ["TCR_ACCEPTED", "waiting"],
    ["TELNYX_ACCEPTED", "waiting"],
    ["MNO_PENDING", "waiting"],
    ["MNO_ACCEPTED", "waiting"],
    ["MNO_PROVISIONED", "approved"],
    ["TCR_FAILED", "rejected"],
    ["TELNYX_FAILED", "rejected"],
    ["MNO_REJECTED", "rejected"],
    ["TCR_SUSPENDED", "action_needed"],
    ["DORMANT", "action_needed"],
    ["TCR_EXPIRED", "action_needed"],
    ["MNO_PROVISIONING_FAILED", "action_needed"],
    ["AN_UNKNOWN_STATUS", "waiting"],
  ])("with the status %s is %s", async (campaignStatus, answer) => {
    const ref = await submitCampaign()
    telnyx.newest("campaigns")["campaignStatus"] = campaignStatus
    const hasReasons = answer === "rejected" || answer === "action_needed"
    expect(
      await telnyx.registry.checkStatus(submissionQueryOf(newCampaignSubmission(""), ref)),
    ).toMatchObject({
      review: { answer, ...(hasReasons ? { reasons: SENTENCE } : {}) },
    })
  })

  it("needs a correction once it has expired, even if it was approved", async () => {
    const ref = await submitCampaign()
    Object.assign(telnyx.newest("campaigns"), {
      campaignStatus: "MNO_PROVISIONED",
      status: "EXPIRED",
    })
    expect(
      await telnyx.registry.checkStatus(submissionQueryOf(newCampaignSubmission(""), ref)),
    ).toMatchObject({
      review: { answer: "action_needed", reasons: [expect.stringMatching(/expired/)] },
    })
  })

  it.each([
    ["low_volume", false, "LOW_VOLUME", ["ACCOUNT_NOTIFICATION", "CUSTOMER_CARE"]],
    ["low_volume", true, "LOW_VOLUME", ["ACCOUNT_NOTIFICATION", "MARKETING"]],
    ["standard", false, "ACCOUNT_NOTIFICATION", undefined],
    ["standard", true, "MIXED", ["ACCOUNT_NOTIFICATION", "MARKETING"]],
    ["sole_proprietor", false, "SOLE_PROPRIETOR", undefined],
  ] as const)(
    "of brand type %s with offers %s has the use case %s",
    async (brandType, offers, usecase, subUsecases) => {
      const ref = await submitBusiness()
      const campaign = newCampaignSubmission(ref, {
        brandType,
        campaign: { ...REVIEWED_CAMPAIGN, offers },
      })
      await telnyx.registry.submit(campaign)
      const [sent] = telnyx.sent("POST /10dlc/campaignBuilder")
      expect(sent).toMatchObject({
        usecase,
        brandId: ref,
        referenceId: campaign.submissionId,
        sample1: REVIEWED_CAMPAIGN.samples[0],
        sample2: REVIEWED_CAMPAIGN.samples[1],
        embeddedLink: true,
        embeddedLinkSample: "https://acme.example/x",
        embeddedPhone: false,
        subscriberOptin: true,
        subscriberOptout: true,
        subscriberHelp: true,
        optoutKeywords: expect.stringMatching(/^STOP,/),
        termsAndConditions: true,
        privacyPolicyLink: REVIEWED_CAMPAIGN.privacyUrl,
        termsAndConditionsLink: REVIEWED_CAMPAIGN.termsUrl,
      })
      expect(sent?.["subUsecases"]).toEqual(subUsecases)
      expect(sent).not.toHaveProperty("sample3")
    },
  )

  it("is corrected in place if it was suspended, appealed if it was rejected, and replaced if it expired", async () => {
    const ref = await submitCampaign()
    const correction = () => {
      telnyx.server.requests.length = 0
      return newCampaignSubmission(String(telnyx.newest("campaigns")["brandId"]), {
        correctedRef: ref,
      })
    }
    telnyx.newest("campaigns")["campaignStatus"] = "TCR_SUSPENDED"
    const first = correction()
    expect(await telnyx.registry.submit(first)).toMatchObject({
      ref,
      review: { answer: "action_needed" },
    })
    expect(await telnyx.registry.checkStatus(submissionQueryOf(first))).toMatchObject({
      answer: "taken",
      ref,
    })
    telnyx.newest("campaigns")["campaignStatus"] = "MNO_REJECTED"
    const second = correction()
    expect(await telnyx.registry.submit(second)).toMatchObject({
      ref,
      review: { answer: "waiting" },
    })
    expect(telnyx.sent(`POST /10dlc/campaign/${ref}/appeal`)).toEqual([
      { appeal_reason: expect.stringContaining(REVIEWED_CAMPAIGN.messageFlow) },
    ])
    telnyx.newest("campaigns")["campaignStatus"] = "TCR_EXPIRED"
    const third = await telnyx.registry.submit(correction())
    expect(acceptedReferenceIn(third)).not.toBe(ref)
  })
})

describe("a number", () => {
  it.each([
    ["PENDING_ASSIGNMENT", "waiting"],
    ["ASSIGNED", "approved"],
    ["FAILED_ASSIGNMENT", "rejected"],
    ["PENDING_UNASSIGNMENT", "waiting"],
    ["FAILED_UNASSIGNMENT", "waiting"],
  ])(
    "with the status %s is %s, and is assigned to its campaign once",
    async (assignmentStatus, answer) => {
      const registration = newNumberRegistration(await submitCampaign())
      await telnyx.registry.registerNumber(registration)
      telnyx.newest("assignments")["assignmentStatus"] = assignmentStatus
      expect(await telnyx.registry.registerNumber(registration)).toMatchObject({ answer })
      expect(telnyx.sent("POST /10dlc/phone_number_campaigns")).toEqual([
        { phoneNumber: registration.number, campaignId: registration.campaignRef },
      ])
    },
  )

  it("can be moved to another campaign", async () => {
    const registration = newNumberRegistration(await submitCampaign())
    await telnyx.registry.registerNumber(registration)
    telnyx.newest("assignments")["assignmentStatus"] = "ASSIGNED"
    const campaignRef = await submitCampaign()
    expect(await telnyx.registry.registerNumber({ ...registration, campaignRef })).toEqual({
      answer: "waiting",
    })
    expect(telnyx.newest("assignments")).toMatchObject({ campaignId: campaignRef })
  })
})

describe("a toll-free number", () => {
  it.each([
    ["Waiting For Telnyx", "waiting"],
    ["Waiting For Vendor", "waiting"],
    ["In Progress", "waiting"],
    ["Verified", "approved"],
    ["Rejected", "rejected"],
    ["Waiting For Customer", "action_needed"],
  ])("with the status %s is %s, and is submitted once", async (verificationStatus, answer) => {
    const registration = newNumberRegistration("c1", { kind: "toll_free" })
    expect(await telnyx.registry.registerNumber(registration)).toEqual({ answer: "waiting" })
    Object.assign(telnyx.newest("verifications"), {
      verificationStatus,
      reason: "The page says nothing",
    })
    const hasReasons = answer === "rejected" || answer === "action_needed"
    expect(await telnyx.registry.registerNumber(registration)).toEqual({
      answer,
      ...(hasReasons ? { reasons: ["The page says nothing."] } : {}),
      ...(answer === "approved" ? { reasons: [] } : {}),
    })
    const sent = telnyx.sent("POST /messaging_tollfree/verification/requests")
    expect(sent).toMatchObject([
      {
        businessName: "Acme Bakery LLC",
        doingBusinessAs: "Acme Bakery",
        businessState: "Texas",
        businessRegistrationNumber: "123456789",
        businessRegistrationType: "EIN",
        businessRegistrationCountry: "US",
        messageVolume: "10,000",
        useCase: "Business Updates",
        entityType: "PRIVATE_PROFIT",
        phoneNumbers: [{ phoneNumber: registration.number }],
        optInWorkflowImageURLs: [{ url: REVIEWED_CAMPAIGN.optInUrl }],
        webhookUrl: expect.stringMatching(/\/registered-numbers\/co_1\/[0-9a-f]{32}$/),
      },
    ])
  })

  it.each(["Rejected", "Waiting For Customer"])(
    "with the status %s is corrected in place, once for each correction",
    async (verificationStatus) => {
      const registration = newNumberRegistration("c1", { kind: "toll_free" })
      await telnyx.registry.registerNumber(registration)
      const verification = telnyx.newest("verifications")
      Object.assign(verification, { verificationStatus })
      const description = "Acme Bakery texts customers about orders, and never about anything else."
      const corrected = { ...registration, campaign: { ...REVIEWED_CAMPAIGN, description } }
      expect(await telnyx.registry.registerNumber(corrected)).toEqual({ answer: "waiting" })
      expect(verification).toMatchObject({
        useCaseSummary: description,
        verificationStatus: "In Progress",
      })
      expect(await telnyx.registry.registerNumber(corrected)).toEqual({ answer: "waiting" })
      Object.assign(verification, {
        verificationStatus,
        useCaseSummary: ` ${description.toUpperCase()}`,
      })
      expect(await telnyx.registry.registerNumber(corrected)).toMatchObject({
        reasons: expect.any(Array),
      })
      const path = `PATCH /messaging_tollfree/verification/requests/${String(verification["id"])}`
      expect(telnyx.sent(path)).toHaveLength(1)
      expect(telnyx.sent("POST /messaging_tollfree/verification/requests")).toHaveLength(1)
    },
  )

  it("that is verified or in review is not corrected", async () => {
    const registration = newNumberRegistration("c1", { kind: "toll_free" })
    await telnyx.registry.registerNumber(registration)
    const changed = {
      ...REVIEWED_CAMPAIGN,
      description: "Acme Bakery now texts about something else.",
    }
    for (const verificationStatus of ["Verified", "In Progress", "Waiting For Telnyx"]) {
      Object.assign(telnyx.newest("verifications"), { verificationStatus })
      await telnyx.registry.registerNumber({ ...registration, campaign: changed })
    }
    expect(telnyx.server.requests.filter(({ call }) => call.startsWith("PATCH"))).toEqual([])
  })

  it("is not submitted if its campaign is too long, and the company is asked for shorter texts", async () => {
    const campaign = {
      ...REVIEWED_CAMPAIGN,
      description: "x".repeat(501),
      messageFlow: "y".repeat(2_048),
    }
    const registration = newNumberRegistration("c1", { kind: "toll_free", campaign })
    expect(await telnyx.registry.registerNumber(registration)).toEqual({
      answer: "action_needed",
      reasons: [
        "description: Must be at most 500 characters to verify a toll-free number; it has 501.",
        "messageFlow: Must be at most 500 characters to verify a toll-free number; it has 2048.",
      ],
    })
    expect(telnyx.sent("POST /messaging_tollfree/verification/requests")).toEqual([])
  })

  it("with the longest replies stays within Telnyx's limits", async () => {
    const replies = { optOutMessage: "o".repeat(320), helpMessage: "h".repeat(320) }
    const texts = { description: "d".repeat(500), messageFlow: "m".repeat(500) }
    const campaign = { ...REVIEWED_CAMPAIGN, ...replies, ...texts, samples: ["s".repeat(1_000)] }
    await telnyx.registry.registerNumber(
      newNumberRegistration("c1", { kind: "toll_free", campaign }),
    )
    expect(telnyx.server.vendorFaults).toEqual([])
    expect(telnyx.sent("POST /messaging_tollfree/verification/requests")).toHaveLength(1)
  })
})

describe("the simulated Telnyx server", () => {
  it.each([
    ["companyName", { legalName: "x".repeat(101) }],
    ["street", { street: "x".repeat(60), street2: "y".repeat(60) }],
    ["postalCode", { country: "CA", postalCode: "12345678901" }],
    ["stockExchange", { stockTicker: "ACME", stockExchange: "MARS" }],
  ])("rejects a business whose %s Telnyx would not accept", async (field, changed) => {
    const answer = await telnyx.registry.submit(
      newBusinessSubmission({ business: { ...REVIEWED_BUSINESS, ...changed } }),
    )
    expect(answer).toMatchObject({ answer: "not_taken" })
    expect(telnyx.server.vendorFaults.join()).toContain(`POST /10dlc/brand: ${field}`)
  })
})
