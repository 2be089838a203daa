/** The contract of registries, for every registry, and Telnyx's handling of unusual answers. */
import { beforeEach, describe, expect, it, afterEach } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import {
  openSimulatedRegistry,
  combineRegistries,
} from "../../adapters/providers/registry/simulator.ts"
import type { Registry } from "../../adapters/providers/registry/port.ts"
import {
  SOLE_PROPRIETOR_BUSINESS,
  submissionQueryOf,
  newBusinessSubmission,
  newCampaignSubmission,
  newNumberRegistration,
  acceptedReferenceIn,
  openTelnyxRegistryFixture,
} from "../support/registrations.ts"
import type { TelnyxRegistryFixture } from "../support/registrations.ts"
import { newTestSimulators } from "../voice/test-simulators.ts"

/** A registry, with faults on demand. */
interface RegistryUnderTest {
  readonly registry: Registry
  /** Sets the outcome of the next request. */
  readonly next: (outcome: "unavailable" | "silent") => Promise<void> | void
  /** Approves everything that was submitted. */
  readonly approve: () => Promise<void> | void
  /** The verification code that was sent for a business. */
  readonly codeFor: (businessRef: string) => string
}

function registryContract(name: string, open: () => Promise<RegistryUnderTest>): void {
  describe(`${name}, as a registry`, () => {
    let fixture: RegistryUnderTest
    beforeEach(async () => {
      fixture = await open()
    })
    const submitted = async () =>
      acceptedReferenceIn(await fixture.registry.submit(newBusinessSubmission()))
    const campaignOf = async () =>
      acceptedReferenceIn(await fixture.registry.submit(newCampaignSubmission(await submitted())))

    it("accepts a business, and returns its status by our id and by its own", async () => {
      const business = newBusinessSubmission()
      const taken = await fixture.registry.submit(business)
      expect(taken).toMatchObject({ answer: "taken", review: { answer: "waiting" } })
      expect(await fixture.registry.checkStatus(submissionQueryOf(business))).toEqual(taken)
      expect(
        await fixture.registry.checkStatus(submissionQueryOf(business, acceptedReferenceIn(taken))),
      ).toEqual(taken)
    })

    it("accepts a campaign of it, even if it is submitted twice, and returns its status", async () => {
      const campaign = newCampaignSubmission(await submitted())
      const taken = await fixture.registry.submit(campaign)
      expect(taken).toMatchObject({ answer: "taken", review: { answer: "waiting" } })
      expect(await fixture.registry.submit(campaign)).toEqual(taken)
      expect(await fixture.registry.checkStatus(submissionQueryOf(campaign))).toEqual(taken)
    })

    it("does not know a submission that it never got, even if it has another one with that name", async () => {
      await campaignOf()
      const unknown = { answer: "unknown" }
      expect(
        await fixture.registry.checkStatus(submissionQueryOf(newBusinessSubmission())),
      ).toEqual(unknown)
      expect(
        await fixture.registry.checkStatus(submissionQueryOf(newCampaignSubmission("none"))),
      ).toEqual(unknown)
    })

    it("accepts nothing while it is unavailable, and may accept a submission if its answer is lost", async () => {
      const ref = await submitted()
      for (const make of [newBusinessSubmission, () => newCampaignSubmission(ref)]) {
        const [never, perhaps] = [make(), make()]
        await fixture.next("unavailable")
        await expect(fixture.registry.submit(never)).rejects.toThrow(ProviderUnavailable)
        expect(await fixture.registry.checkStatus(submissionQueryOf(never))).toEqual({
          answer: "unknown",
        })
        await fixture.next("silent")
        await expect(fixture.registry.submit(perhaps)).rejects.toThrow(ProviderOutcomeUnknown)
        expect(await fixture.registry.checkStatus(submissionQueryOf(perhaps))).toMatchObject({
          answer: "taken",
        })
      }
    })

    it("returns approvals", async () => {
      const business = newBusinessSubmission()
      const ref = acceptedReferenceIn(await fixture.registry.submit(business))
      await fixture.approve()
      const approved = { answer: "approved", reasons: [] }
      expect(await fixture.registry.checkStatus(submissionQueryOf(business))).toMatchObject({
        review: approved,
      })
      const campaign = newCampaignSubmission(ref)
      const campaignRef = acceptedReferenceIn(await fixture.registry.submit(campaign))
      await fixture.approve()
      expect(await fixture.registry.checkStatus(submissionQueryOf(campaign))).toMatchObject({
        review: approved,
      })
      const registration = newNumberRegistration(campaignRef)
      await fixture.registry.registerNumber(registration)
      await fixture.approve()
      expect(await fixture.registry.registerNumber(registration)).toEqual(approved)
    })

    it("registers a number again after a lost answer", async () => {
      const registration = newNumberRegistration(await campaignOf())
      await fixture.next("unavailable")
      await expect(fixture.registry.registerNumber(registration)).rejects.toThrow(
        ProviderUnavailable,
      )
      await fixture.next("silent")
      await expect(fixture.registry.registerNumber(registration)).rejects.toThrow(
        ProviderOutcomeUnknown,
      )
      const { answer } = await fixture.registry.registerNumber(registration)
      expect(["waiting", "approved"]).toContain(answer)
      expect(await fixture.registry.registerNumber(registration)).toMatchObject({ answer })
    })

    it("accepts only the right code of a sole proprietor", async () => {
      const ref = acceptedReferenceIn(
        await fixture.registry.submit(
          newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS }),
        ),
      )
      await fixture.approve()
      const code = fixture.codeFor(ref)
      expect(await fixture.registry.verifyCode(ref, `${code}0`)).toBe(false)
      expect(await fixture.registry.verifyCode(ref, code)).toBe(true)
    })

    it("can end a campaign twice, and one that does not exist", async () => {
      const ended = { companyId: "co_1", isTest: false, ref: await campaignOf() } as const
      await fixture.registry.endCampaign(ended)
      await fixture.registry.endCampaign(ended)
      await expect(fixture.registry.endCampaign({ ...ended, ref: "none" })).resolves.toBeUndefined()
      await expect(fixture.registry.endCampaign({ ...ended, ref: null })).resolves.toBeUndefined()
    })

    it("rejects unsigned webhooks", () => {
      const target = "/carriers/telnyx/registration/reg_1/co_1/0123456789abcdef0123456789abcdef"
      const call = { target, header: () => null, raw: Buffer.from("{}") }
      expect(fixture.registry.readWebhook(call, Date.now())).toBe("forged")
    })
  })
}

const opened: TelnyxRegistryFixture[] = []
afterEach(async () => {
  const closed = opened.splice(0).map(({ server }) => server)
  await Promise.all(closed.map((one) => one.close()))
  // Every request must match the vendor's API description and its limits.
  const faults = closed.flatMap((one) => one.vendorFaults)
  if (faults.length > 0) throw new Error(faults.join("; "))
})

async function simulatedRegistry(): Promise<RegistryUnderTest> {
  const { simulatorMemory, simulators } = newTestSimulators()
  const pacer = { elapsedMs: () => 0, pause: async () => undefined }
  const set = (outcome: "unavailable" | "silent" | "approve") =>
    simulators.set({ name: "registration", outcome, times: 1 })
  return {
    registry: openSimulatedRegistry({ simulatorMemory, simulators, pacer }),
    next: set,
    approve: () => set("approve"),
    codeFor: () => "123456",
  }
}

async function telnyx(): Promise<RegistryUnderTest & TelnyxRegistryFixture> {
  const one = await openTelnyxRegistryFixture()
  opened.push(one)
  const { brands, campaigns, assignments, codes } = one.server.registry
  return {
    ...one,
    next: (outcome) => {
      one.server.nextBehavior = outcome
    },
    approve: async () => {
      for (const brand of brands) {
        const isSoleProprietor = brand["entityType"] === "SOLE_PROPRIETOR"
        Object.assign(
          brand,
          { status: "OK" },
          isSoleProprietor ? {} : { identityStatus: "VERIFIED" },
        )
        const ref = String(brand["brandId"])
        // Checking the status makes Telnyx send the code.
        if (isSoleProprietor)
          await one.registry.checkStatus(
            submissionQueryOf(newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS }), ref),
          )
      }
      for (const campaign of campaigns) campaign["campaignStatus"] = "MNO_PROVISIONED"
      for (const number of assignments) number["assignmentStatus"] = "ASSIGNED"
    },
    codeFor: (ref) => codes.get(ref)?.pin ?? "",
  }
}

registryContract("the simulator", simulatedRegistry)
registryContract("Telnyx", telnyx)
registryContract("Telnyx, with the simulator for test mode", async () => {
  const [{ registry: tests }, real] = await Promise.all([simulatedRegistry(), telnyx()])
  return { ...real, registry: combineRegistries(tests, real.registry) }
})

describe("Telnyx, if it does not answer as expected", () => {
  it("gets nothing twice after a lost answer, because the status is checked", async () => {
    const { registry, server, sent } = await telnyx()
    const business = newBusinessSubmission()
    server.nextBehavior = "silent"
    await expect(registry.submit(business)).rejects.toThrow(ProviderOutcomeUnknown)
    const ref = acceptedReferenceIn(await registry.checkStatus(submissionQueryOf(business)))
    expect(server.registry.brands).toMatchObject([{ brandId: ref }])
    const campaign = newCampaignSubmission(ref)
    server.nextBehavior = "silent"
    await expect(registry.submit(campaign)).rejects.toThrow(ProviderOutcomeUnknown)
    expect(await registry.checkStatus(submissionQueryOf(campaign))).toMatchObject({
      answer: "taken",
    })
    expect(sent("POST /10dlc/brand")).toHaveLength(1)
    expect(sent("POST /10dlc/campaignBuilder")).toHaveLength(1)
  })

  it.each([
    [429, ProviderUnavailable],
    [401, ProviderUnavailable],
    [402, ProviderUnavailable],
    [403, ProviderUnavailable],
    [307, ProviderOutcomeUnknown],
    [408, ProviderOutcomeUnknown],
    [409, ProviderOutcomeUnknown],
    [425, ProviderOutcomeUnknown],
    [500, ProviderOutcomeUnknown],
    [502, ProviderOutcomeUnknown],
    [503, ProviderOutcomeUnknown],
    [504, ProviderOutcomeUnknown],
  ])(
    "maps status %i to the right error for a business, a campaign and a number",
    async (status, fault) => {
      const { registry, server } = await telnyx()
      const failNext = () => {
        server.nextBehavior = { status, code: "10007" }
      }
      const ref = acceptedReferenceIn(await registry.submit(newBusinessSubmission()))
      const campaignRef = acceptedReferenceIn(await registry.submit(newCampaignSubmission(ref)))
      failNext()
      await expect(registry.submit(newBusinessSubmission())).rejects.toThrow(fault)
      failNext()
      await expect(registry.submit(newCampaignSubmission(ref))).rejects.toThrow(fault)
      failNext()
      await expect(registry.registerNumber(newNumberRegistration(campaignRef))).rejects.toThrow(
        fault,
      )
      failNext()
      const tollFree = newNumberRegistration(campaignRef, { kind: "toll_free" })
      await expect(registry.registerNumber(tollFree)).rejects.toThrow(fault)
      failNext()
      const ended = { companyId: "co_1", isTest: false, ref: campaignRef } as const
      await expect(registry.endCampaign(ended)).rejects.toThrow(fault)
      failNext()
      await expect(registry.verifyCode(ref, "123456")).rejects.toThrow(fault)
    },
  )

  it.each([400, 404, 422])(
    "rejects a submission that it answers with %i, with the reasons",
    async (status) => {
      const { registry, server } = await telnyx()
      const ref = acceptedReferenceIn(await registry.submit(newBusinessSubmission()))
      const campaignRef = acceptedReferenceIn(await registry.submit(newCampaignSubmission(ref)))
      const reasons = ["By the simulated server."]
      const failNext = () => {
        server.nextBehavior = { status, code: "10015" }
      }
      failNext()
      expect(await registry.submit(newBusinessSubmission())).toEqual({
        answer: "not_taken",
        reasons,
      })
      failNext()
      expect(await registry.submit(newCampaignSubmission(ref))).toEqual({
        answer: "not_taken",
        reasons,
      })
      failNext()
      const rejected = { answer: "rejected", reasons }
      expect(await registry.registerNumber(newNumberRegistration(campaignRef))).toEqual(rejected)
    },
  )
})

describe("test mode, if Telnyx is the registry", () => {
  it("uses the simulator, even for references that the simulator gave", async () => {
    const [{ registry: tests }, { registry: real, server }] = await Promise.all([
      simulatedRegistry(),
      telnyx(),
    ])
    const combined = combineRegistries(tests, real)
    const business = newBusinessSubmission({ isTest: true })
    const ref = `builtin-${business.submissionId}`
    expect(await combined.submit(business)).toMatchObject({ answer: "taken", ref })
    expect(await combined.checkStatus(submissionQueryOf(business))).toMatchObject({ ref })
    expect(
      await combined.checkStatus({ ...submissionQueryOf(business, ref), isTest: false }),
    ).toMatchObject({ ref })
    expect(await combined.verifyCode(ref, "123456")).toBe(true)
    const registration = newNumberRegistration(ref, { isTest: true })
    expect(await combined.registerNumber(registration)).toMatchObject({ answer: "approved" })
    await combined.endCampaign({ companyId: "co_1", isTest: false, ref })
    expect(server.requests).toEqual([])
    expect(combined).toMatchObject({ isSimulator: false, isIdempotent: false })
  })
})
