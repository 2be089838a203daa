/** Businesses at Telnyx: our requests, and its answers translated into our terms. */
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { ProviderOutcomeUnknown } from "../../adapters/providers/provider-errors.ts"
import {
  REVIEWED_BUSINESS,
  SOLE_PROPRIETOR_BUSINESS,
  submissionQueryOf,
  newBusinessSubmission,
  openTelnyxRegistryFixture,
  acceptedReferenceIn,
} from "../support/registrations.ts"

const telnyx = await openTelnyxRegistryFixture()
afterAll(() => telnyx.server.close())
beforeEach(() => {
  telnyx.server.requests.length = 0
})

type Row = Record<string, unknown>

const SENTENCE = [expect.stringMatching(/^[A-Z].*\.$/)]
const submitBusiness = async () =>
  acceptedReferenceIn(await telnyx.registry.submit(newBusinessSubmission()))

describe("a business", () => {
  it.each<[Row, string, unknown]>([
    [{ status: "REGISTRATION_PENDING" }, "waiting", undefined],
    [{ status: "REGISTRATION_PENDING", identityStatus: "UNVERIFIED" }, "waiting", undefined],
    [{ status: "OK" }, "waiting", undefined],
    [{ status: "OK", identityStatus: "SELF_DECLARED" }, "waiting", undefined],
    [{ status: "OK", identityStatus: "VERIFIED" }, "approved", []],
    [{ status: "OK", identityStatus: "VETTED_VERIFIED" }, "approved", []],
    [{ status: "OK", identityStatus: "UNVERIFIED" }, "action_needed", SENTENCE],
    [{ status: "REGISTRATION_FAILED" }, "rejected", SENTENCE],
    [{ status: "REGISTRATION_FAILED", failureReasons: "No EIN" }, "rejected", ["No EIN."]],
    [
      {
        status: "REGISTRATION_FAILED",
        failureReasons: '[{"fields":["ein"],"description":"The EIN is another one."}, "No."]',
      },
      "rejected",
      ["The EIN is another one.", "No."],
    ],
  ])("with %j is %s", async (brand, answer, reasons) => {
    const ref = await submitBusiness()
    Object.assign(telnyx.newest("brands"), brand)
    const status = await telnyx.registry.checkStatus(
      submissionQueryOf(newBusinessSubmission(), ref),
    )
    expect(status).toMatchObject({ ref, review: { answer, ...(reasons ? { reasons } : {}) } })
  })

  it("has the registry's feedback as its reasons", async () => {
    const ref = await submitBusiness()
    Object.assign(telnyx.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
    telnyx.server.registry.feedback.set(ref, ["The legal name is not that of the tax number"])
    expect(
      await telnyx.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref)),
    ).toMatchObject({
      review: { reasons: ["The legal name is not that of the tax number."] },
    })
  })

  it("is sent with the registry's field names and values", async () => {
    const { submissionId } = newBusinessSubmission()
    const publicCompany = {
      ...REVIEWED_BUSINESS,
      stockExchange: "nyse",
      stockTicker: "ACME",
      street2: "Suite 2",
    }
    await telnyx.registry.submit(newBusinessSubmission({ submissionId, business: publicCompany }))
    expect(telnyx.sent("POST /10dlc/brand")).toEqual([
      {
        entityType: "PUBLIC_PROFIT",
        displayName: "Acme Bakery",
        vertical: "RETAIL",
        companyName: "Acme Bakery LLC",
        ein: "123456789",
        website: "https://acme.example",
        street: "1 Main St, Suite 2",
        city: "Austin",
        state: "TX",
        postalCode: "78701",
        country: "US",
        email: "ada@acme.example",
        phone: "+15125550123",
        firstName: "Ada",
        lastName: "Lovelace",
        businessContactEmail: "ada@acme.example",
        stockSymbol: "ACME",
        stockExchange: "NYSE",
        webhookURL: expect.stringMatching(
          `^https://ledger.test/carriers/telnyx/registration/${submissionId}/co_1/[0-9a-f]{32}$`,
        ),
      },
    ])
    const nonprofit = { ...REVIEWED_BUSINESS, entityType: "nonprofit" } as const
    await telnyx.registry.submit(newBusinessSubmission({ business: nonprofit, isTest: true }))
    expect(telnyx.newest("brands")).toMatchObject({ entityType: "NON_PROFIT", mock: true })
  })

  it("is corrected and reviewed again under the new submission", async () => {
    const ref = await submitBusiness()
    Object.assign(telnyx.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
    const correction = newBusinessSubmission({
      correctedRef: ref,
      business: { ...REVIEWED_BUSINESS, legalName: "Acme Inc." },
    })
    const corrected = { answer: "taken", ref, review: { answer: "waiting" } }
    expect(await telnyx.registry.submit(correction)).toEqual(corrected)
    const calls = telnyx.server.requests.map(({ call }) => call)
    expect(calls.slice(1)).toEqual([`PUT /10dlc/brand/${ref}`, `PUT /10dlc/brand/${ref}/revet`])
    expect(telnyx.newest("brands")).toMatchObject({ companyName: "Acme Inc." })
    expect(await telnyx.registry.checkStatus(submissionQueryOf(correction))).toEqual(corrected)
  })

  it("has an unknown outcome if it was corrected but the new review failed, and is then found", async () => {
    const ref = await submitBusiness()
    Object.assign(telnyx.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
    const correction = newBusinessSubmission({ correctedRef: ref })
    const { brands } = telnyx.server.registry
    brands.splice(0, brands.length - 1)
    telnyx.server.behaviorByCall.set(`PUT /10dlc/brand/${ref}/revet`, { status: 503, code: "1" })
    await expect(telnyx.registry.submit(correction)).rejects.toThrow(ProviderOutcomeUnknown)
    expect(await telnyx.registry.checkStatus(submissionQueryOf(correction))).toMatchObject({
      answer: "taken",
      ref,
    })
    telnyx.server.behaviorByCall.set(`PUT /10dlc/brand/${ref}/revet`, { status: 400, code: "1" })
    const review = { answer: "action_needed", reasons: ["By the simulated server."] }
    expect(await telnyx.registry.submit(correction)).toEqual({ answer: "taken", ref, review })
  })
})

describe("a sole proprietor", () => {
  const needed = { answer: "action_needed", reasons: [expect.stringMatching(/code was texted/)] }

  it("is texted a code once it is registered, and approved once the code is entered", async () => {
    const business = newBusinessSubmission({
      business: SOLE_PROPRIETOR_BUSINESS,
      brandType: "sole_proprietor",
    })
    const ref = acceptedReferenceIn(await telnyx.registry.submit(business))
    expect(telnyx.sent("POST /10dlc/brand")[0]).toMatchObject({ mobilePhone: "+15125550123" })
    expect(telnyx.sent("POST /10dlc/brand")[0]).not.toHaveProperty("ein")
    expect(telnyx.sent("POST /10dlc/brand")[0]).not.toHaveProperty("companyName")
    expect(await telnyx.registry.checkStatus(submissionQueryOf(business))).toMatchObject({
      review: { answer: "waiting" },
    })
    telnyx.newest("brands")["status"] = "OK"
    for (const query of [submissionQueryOf(business), submissionQueryOf(business, ref)]) {
      expect(await telnyx.registry.checkStatus(query)).toMatchObject({ review: needed })
    }
    const texted = telnyx.sent(`POST /10dlc/brand/${ref}/smsOtp`)
    expect(texted).toEqual([
      { pinSms: expect.stringContaining("@OTP_PIN@"), successSms: expect.any(String) },
    ])
    expect(await telnyx.registry.verifyCode(ref, "000000")).toBe(false)
    expect(telnyx.sent(`POST /10dlc/brand/${ref}/smsOtp`)).toHaveLength(1)
    const { pin } = telnyx.server.registry.codes.get(ref) ?? { pin: "" }
    expect(await telnyx.registry.verifyCode(ref, pin)).toBe(true)
    expect(telnyx.sent(`PUT /10dlc/brand/${ref}/smsOtp`).at(-1)).toEqual({ otpPin: pin })
    expect(await telnyx.registry.checkStatus(submissionQueryOf(business))).toMatchObject({
      review: { answer: "approved" },
    })
  })

  it("is texted another code if the last one has expired, and when it is submitted again", async () => {
    const ref = acceptedReferenceIn(
      await telnyx.registry.submit(newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS })),
    )
    telnyx.newest("brands")["status"] = "OK"
    await telnyx.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref))
    const { pin, known } = telnyx.server.registry.codes.get(ref) ?? { pin: "", known: {} }
    known["deliveryStatus"] = "EXPIRED"
    expect(await telnyx.registry.verifyCode(ref, pin)).toBe(false)
    expect(telnyx.sent(`POST /10dlc/brand/${ref}/smsOtp`)).toHaveLength(2)
    const correction = newBusinessSubmission({
      business: SOLE_PROPRIETOR_BUSINESS,
      correctedRef: ref,
    })
    expect(await telnyx.registry.submit(correction)).toMatchObject({ ref, review: needed })
    expect(telnyx.sent(`POST /10dlc/brand/${ref}/smsOtp`)).toHaveLength(3)
    expect(telnyx.sent(`PUT /10dlc/brand/${ref}/revet`)).toEqual([])
  })

  it("is reviewed like other businesses once its code was entered", async () => {
    const ref = acceptedReferenceIn(
      await telnyx.registry.submit(newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS })),
    )
    telnyx.newest("brands")["status"] = "OK"
    await telnyx.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref))
    await telnyx.registry.verifyCode(ref, telnyx.server.registry.codes.get(ref)?.pin ?? "")
    telnyx.newest("brands")["identityStatus"] = "UNVERIFIED"
    expect(
      await telnyx.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref)),
    ).toMatchObject({
      review: { answer: "action_needed", reasons: [expect.stringMatching(/could not verify/)] },
    })
    await telnyx.registry.submit(
      newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS, correctedRef: ref }),
    )
    expect(telnyx.sent(`PUT /10dlc/brand/${ref}/revet`)).toHaveLength(1)
  })
})
