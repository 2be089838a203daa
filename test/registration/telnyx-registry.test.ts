/** What Telnyx says of businesses, in our words, and what it is told. */
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

const by = await openTelnyxRegistryFixture()
afterAll(() => by.server.close())
beforeEach(() => {
  by.server.requests.length = 0
})

type Row = Record<string, unknown>

const SENTENCE = [expect.stringMatching(/^[A-Z].*\.$/)]
const submitted = async () => acceptedReferenceIn(await by.registry.submit(newBusinessSubmission()))

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
  ])("that is %j is %s", async (says, answer, reasons) => {
    const ref = await submitted()
    Object.assign(by.newest("brands"), says)
    const asked = await by.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref))
    expect(asked).toMatchObject({ ref, review: { answer, ...(reasons ? { reasons } : {}) } })
  })

  it("says what the registry has against it, where it does", async () => {
    const ref = await submitted()
    Object.assign(by.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
    by.server.registry.feedback.set(ref, ["The legal name is not that of the tax number"])
    expect(
      await by.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref)),
    ).toMatchObject({
      review: { reasons: ["The legal name is not that of the tax number."] },
    })
  })

  it("is told of as the registry names it", async () => {
    const { submissionId } = newBusinessSubmission()
    const traded = {
      ...REVIEWED_BUSINESS,
      stockExchange: "nyse",
      stockTicker: "ACME",
      street2: "Suite 2",
    }
    await by.registry.submit(newBusinessSubmission({ submissionId, business: traded }))
    expect(by.sent("POST /10dlc/brand")).toEqual([
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
        lastName: "Lane",
        businessContactEmail: "ada@acme.example",
        stockSymbol: "ACME",
        stockExchange: "NYSE",
        webhookURL: expect.stringMatching(
          `^https://ledger.test/carriers/telnyx/registration/${submissionId}/co_1/[0-9a-f]{32}$`,
        ),
      },
    ])
    const nonprofit = { ...REVIEWED_BUSINESS, entityType: "nonprofit" } as const
    await by.registry.submit(newBusinessSubmission({ business: nonprofit, isTest: true }))
    expect(by.newest("brands")).toMatchObject({ entityType: "NON_PROFIT", mock: true })
  })

  it("is put right and looked at again, under the new submission", async () => {
    const ref = await submitted()
    Object.assign(by.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
    const again = newBusinessSubmission({
      correctedRef: ref,
      business: { ...REVIEWED_BUSINESS, legalName: "Acme Inc." },
    })
    const taken = { answer: "taken", ref, review: { answer: "waiting" } }
    expect(await by.registry.submit(again)).toEqual(taken)
    const calls = by.server.requests.map(({ call }) => call)
    expect(calls.slice(1)).toEqual([`PUT /10dlc/brand/${ref}`, `PUT /10dlc/brand/${ref}/revet`])
    expect(by.newest("brands")).toMatchObject({ companyName: "Acme Inc." })
    expect(await by.registry.checkStatus(submissionQueryOf(again))).toEqual(taken)
  })

  it("may be found where it was put right and nobody would look again", async () => {
    const ref = await submitted()
    Object.assign(by.newest("brands"), { status: "OK", identityStatus: "UNVERIFIED" })
    const again = newBusinessSubmission({ correctedRef: ref })
    const books = by.server.registry
    books.brands.splice(0, books.brands.length - 1)
    by.server.behaviorByCall.set(`PUT /10dlc/brand/${ref}/revet`, { status: 503, code: "1" })
    await expect(by.registry.submit(again)).rejects.toThrow(ProviderOutcomeUnknown)
    expect(await by.registry.checkStatus(submissionQueryOf(again))).toMatchObject({
      answer: "taken",
      ref,
    })
    by.server.behaviorByCall.set(`PUT /10dlc/brand/${ref}/revet`, { status: 400, code: "1" })
    const review = { answer: "action_needed", reasons: ["By the simulated server."] }
    expect(await by.registry.submit(again)).toEqual({ answer: "taken", ref, review })
  })
})

describe("a business of one person", () => {
  const needed = { answer: "action_needed", reasons: [expect.stringMatching(/code was texted/)] }

  it("is texted a code once it is registered, and approved once that is given back", async () => {
    const business = newBusinessSubmission({
      business: SOLE_PROPRIETOR_BUSINESS,
      brandType: "sole_proprietor",
    })
    const ref = acceptedReferenceIn(await by.registry.submit(business))
    expect(by.sent("POST /10dlc/brand")[0]).toMatchObject({ mobilePhone: "+15125550123" })
    expect(by.sent("POST /10dlc/brand")[0]).not.toHaveProperty("ein")
    expect(by.sent("POST /10dlc/brand")[0]).not.toHaveProperty("companyName")
    expect(await by.registry.checkStatus(submissionQueryOf(business))).toMatchObject({
      review: { answer: "waiting" },
    })
    by.newest("brands")["status"] = "OK"
    for (const asked of [submissionQueryOf(business), submissionQueryOf(business, ref)]) {
      expect(await by.registry.checkStatus(asked)).toMatchObject({ review: needed })
    }
    const texted = by.sent(`POST /10dlc/brand/${ref}/smsOtp`)
    expect(texted).toEqual([
      { pinSms: expect.stringContaining("@OTP_PIN@"), successSms: expect.any(String) },
    ])
    expect(await by.registry.verifyCode(ref, "000000")).toBe(false)
    expect(by.sent(`POST /10dlc/brand/${ref}/smsOtp`)).toHaveLength(1)
    const { pin } = by.server.registry.codes.get(ref) ?? { pin: "" }
    expect(await by.registry.verifyCode(ref, pin)).toBe(true)
    expect(by.sent(`PUT /10dlc/brand/${ref}/smsOtp`).at(-1)).toEqual({ otpPin: pin })
    expect(await by.registry.checkStatus(submissionQueryOf(business))).toMatchObject({
      review: { answer: "approved" },
    })
  })

  it("is texted another code where the last one is over, and where it is sent again", async () => {
    const ref = acceptedReferenceIn(
      await by.registry.submit(newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS })),
    )
    by.newest("brands")["status"] = "OK"
    await by.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref))
    const { pin, known } = by.server.registry.codes.get(ref) ?? { pin: "", known: {} }
    known["deliveryStatus"] = "EXPIRED"
    expect(await by.registry.verifyCode(ref, pin)).toBe(false)
    expect(by.sent(`POST /10dlc/brand/${ref}/smsOtp`)).toHaveLength(2)
    const again = newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS, correctedRef: ref })
    expect(await by.registry.submit(again)).toMatchObject({ ref, review: needed })
    expect(by.sent(`POST /10dlc/brand/${ref}/smsOtp`)).toHaveLength(3)
    expect(by.sent(`PUT /10dlc/brand/${ref}/revet`)).toEqual([])
  })

  it("is looked at as others are once its code was given back", async () => {
    const ref = acceptedReferenceIn(
      await by.registry.submit(newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS })),
    )
    by.newest("brands")["status"] = "OK"
    await by.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref))
    await by.registry.verifyCode(ref, by.server.registry.codes.get(ref)?.pin ?? "")
    by.newest("brands")["identityStatus"] = "UNVERIFIED"
    expect(
      await by.registry.checkStatus(submissionQueryOf(newBusinessSubmission(), ref)),
    ).toMatchObject({
      review: { answer: "action_needed", reasons: [expect.stringMatching(/could not verify/)] },
    })
    await by.registry.submit(
      newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS, correctedRef: ref }),
    )
    expect(by.sent(`PUT /10dlc/brand/${ref}/revet`)).toHaveLength(1)
  })
})
