/** What Telnyx says of campaigns and of numbers, in our words, and what it is told. */
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

const by = await openTelnyxRegistryFixture()
afterAll(() => by.server.close())
beforeEach(() => {
  by.server.requests.length = 0
  by.server.vendorFaults.length = 0
})

const SENTENCE = [expect.stringMatching(/^[A-Z].*\.$/)]
const submitted = async () => acceptedReferenceIn(await by.registry.submit(newBusinessSubmission()))
const campaignOf = async () =>
  acceptedReferenceIn(await by.registry.submit(newCampaignSubmission(await submitted())))

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
    ["whatever comes", "waiting"],
  ])("that is %s is %s", async (campaignStatus, answer) => {
    const ref = await campaignOf()
    by.newest("campaigns")["campaignStatus"] = campaignStatus
    const hasReasons = answer === "rejected" || answer === "action_needed"
    expect(
      await by.registry.checkStatus(submissionQueryOf(newCampaignSubmission(""), ref)),
    ).toMatchObject({
      review: { answer, ...(hasReasons ? { reasons: SENTENCE } : {}) },
    })
  })

  it("is over once it has expired, whatever its reviewers said", async () => {
    const ref = await campaignOf()
    Object.assign(by.newest("campaigns"), { campaignStatus: "MNO_PROVISIONED", status: "EXPIRED" })
    expect(
      await by.registry.checkStatus(submissionQueryOf(newCampaignSubmission(""), ref)),
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
  ] as const)("of %s with offers %s is for %s", async (brandType, offers, usecase, subUsecases) => {
    const ref = await submitted()
    const campaign = newCampaignSubmission(ref, {
      brandType,
      campaign: { ...REVIEWED_CAMPAIGN, offers },
    })
    await by.registry.submit(campaign)
    const [sent] = by.sent("POST /10dlc/campaignBuilder")
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
  })

  it("is put right where it was suspended, and looked at again where it was refused", async () => {
    const ref = await campaignOf()
    const correction = () => {
      by.server.requests.length = 0
      return newCampaignSubmission(String(by.newest("campaigns")["brandId"]), { correctedRef: ref })
    }
    by.newest("campaigns")["campaignStatus"] = "TCR_SUSPENDED"
    const first = correction()
    expect(await by.registry.submit(first)).toMatchObject({
      ref,
      review: { answer: "action_needed" },
    })
    expect(await by.registry.checkStatus(submissionQueryOf(first))).toMatchObject({
      answer: "taken",
      ref,
    })
    by.newest("campaigns")["campaignStatus"] = "MNO_REJECTED"
    const second = correction()
    expect(await by.registry.submit(second)).toMatchObject({ ref, review: { answer: "waiting" } })
    expect(by.sent(`POST /10dlc/campaign/${ref}/appeal`)).toEqual([
      { appeal_reason: expect.stringContaining(REVIEWED_CAMPAIGN.messageFlow) },
    ])
    by.newest("campaigns")["campaignStatus"] = "TCR_EXPIRED"
    const third = await by.registry.submit(correction())
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
  ])("that is %s is %s, and is put into its campaign once", async (assignmentStatus, answer) => {
    const registration = newNumberRegistration(await campaignOf())
    await by.registry.registerNumber(registration)
    by.newest("assignments")["assignmentStatus"] = assignmentStatus
    expect(await by.registry.registerNumber(registration)).toMatchObject({ answer })
    expect(by.sent("POST /10dlc/phone_number_campaigns")).toEqual([
      { phoneNumber: registration.number, campaignId: registration.campaignRef },
    ])
  })

  it("moves to another campaign", async () => {
    const registration = newNumberRegistration(await campaignOf())
    await by.registry.registerNumber(registration)
    by.newest("assignments")["assignmentStatus"] = "ASSIGNED"
    const campaignRef = await campaignOf()
    expect(await by.registry.registerNumber({ ...registration, campaignRef })).toEqual({
      answer: "waiting",
    })
    expect(by.newest("assignments")).toMatchObject({ campaignId: campaignRef })
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
  ])("that is %s is %s, and is sent once", async (verificationStatus, answer) => {
    const registration = newNumberRegistration("c1", { kind: "toll_free" })
    expect(await by.registry.registerNumber(registration)).toEqual({ answer: "waiting" })
    Object.assign(by.newest("verifications"), {
      verificationStatus,
      reason: "The page says nothing",
    })
    const hasReasons = answer === "rejected" || answer === "action_needed"
    expect(await by.registry.registerNumber(registration)).toEqual({
      answer,
      ...(hasReasons ? { reasons: ["The page says nothing."] } : {}),
      ...(answer === "approved" ? { reasons: [] } : {}),
    })
    const sent = by.sent("POST /messaging_tollfree/verification/requests")
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
    "that is %s is corrected in place, once for each correction",
    async (verificationStatus) => {
      const registration = newNumberRegistration("c1", { kind: "toll_free" })
      await by.registry.registerNumber(registration)
      const kept = by.newest("verifications")
      Object.assign(kept, { verificationStatus })
      const description = "Acme Bakery texts customers about orders, and never about anything else."
      const corrected = { ...registration, campaign: { ...REVIEWED_CAMPAIGN, description } }
      expect(await by.registry.registerNumber(corrected)).toEqual({ answer: "waiting" })
      expect(kept).toMatchObject({ useCaseSummary: description, verificationStatus: "In Progress" })
      expect(await by.registry.registerNumber(corrected)).toEqual({ answer: "waiting" })
      Object.assign(kept, { verificationStatus, useCaseSummary: ` ${description.toUpperCase()}` })
      expect(await by.registry.registerNumber(corrected)).toMatchObject({
        reasons: expect.any(Array),
      })
      const path = `PATCH /messaging_tollfree/verification/requests/${String(kept["id"])}`
      expect(by.sent(path)).toHaveLength(1)
      expect(by.sent("POST /messaging_tollfree/verification/requests")).toHaveLength(1)
    },
  )

  it("that is verified or in review is not corrected", async () => {
    const registration = newNumberRegistration("c1", { kind: "toll_free" })
    await by.registry.registerNumber(registration)
    const changed = {
      ...REVIEWED_CAMPAIGN,
      description: "Acme Bakery texts about something else by now.",
    }
    for (const verificationStatus of ["Verified", "In Progress", "Waiting For Telnyx"]) {
      Object.assign(by.newest("verifications"), { verificationStatus })
      await by.registry.registerNumber({ ...registration, campaign: changed })
    }
    expect(by.server.requests.filter(({ call }) => call.startsWith("PATCH"))).toEqual([])
  })

  it("whose campaign is too long for it is not sent: its company is asked for shorter texts", async () => {
    const campaign = {
      ...REVIEWED_CAMPAIGN,
      description: "x".repeat(501),
      messageFlow: "y".repeat(2_048),
    }
    const registration = newNumberRegistration("c1", { kind: "toll_free", campaign })
    expect(await by.registry.registerNumber(registration)).toEqual({
      answer: "action_needed",
      reasons: [
        "description: Must be at most 500 characters to verify a toll-free number; it has 501.",
        "messageFlow: Must be at most 500 characters to verify a toll-free number; it has 2048.",
      ],
    })
    expect(by.sent("POST /messaging_tollfree/verification/requests")).toEqual([])
  })

  it("of the longest replies stays within what is taken of it", async () => {
    const replies = { optOutMessage: "o".repeat(320), helpMessage: "h".repeat(320) }
    const texts = { description: "d".repeat(500), messageFlow: "m".repeat(500) }
    const campaign = { ...REVIEWED_CAMPAIGN, ...replies, ...texts, samples: ["s".repeat(1_000)] }
    await by.registry.registerNumber(newNumberRegistration("c1", { kind: "toll_free", campaign }))
    expect(by.server.vendorFaults).toEqual([])
    expect(by.sent("POST /messaging_tollfree/verification/requests")).toHaveLength(1)
  })
})

describe("the table of what Telnyx takes", () => {
  it.each([
    ["companyName", { legalName: "x".repeat(101) }],
    ["street", { street: "x".repeat(60), street2: "y".repeat(60) }],
    ["postalCode", { country: "CA", postalCode: "12345678901" }],
    ["stockExchange", { stockTicker: "ACME", stockExchange: "MARS" }],
  ])("stops a request whose %s is none that it takes", async (field, changed) => {
    const answer = await by.registry.submit(
      newBusinessSubmission({ business: { ...REVIEWED_BUSINESS, ...changed } }),
    )
    expect(answer).toMatchObject({ answer: "not_taken" })
    expect(by.server.vendorFaults.join()).toContain(`POST /10dlc/brand: ${field}`)
  })
})
