/** The registries keep their contract, and Telnyx's whatever is answered. */
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

/** A registry, and how a test has it do something else. */
interface RegistryUnderTest {
  readonly registry: Registry
  /** What it does to the next thing that is sent. */
  readonly next: (outcome: "unavailable" | "silent") => Promise<void> | void
  /** Has everything that was sent approved. */
  readonly approve: () => Promise<void> | void
  /** The code that was texted for a business. */
  readonly codeFor: (businessRef: string) => string
}

/** Runs the contract. */
function registryContract(name: string, open: () => Promise<RegistryUnderTest>): void {
  describe(`${name}, as a registry`, () => {
    let under: RegistryUnderTest
    beforeEach(async () => {
      under = await open()
    })
    const submitted = async () =>
      acceptedReferenceIn(await under.registry.submit(newBusinessSubmission()))
    const campaignOf = async () =>
      acceptedReferenceIn(await under.registry.submit(newCampaignSubmission(await submitted())))

    it("takes a business and knows it from then on, by our id and by its own", async () => {
      const business = newBusinessSubmission()
      const taken = await under.registry.submit(business)
      expect(taken).toMatchObject({ answer: "taken", review: { answer: "waiting" } })
      expect(await under.registry.checkStatus(submissionQueryOf(business))).toEqual(taken)
      expect(
        await under.registry.checkStatus(submissionQueryOf(business, acceptedReferenceIn(taken))),
      ).toEqual(taken)
    })

    it("takes a campaign of it and knows that from then on, though it comes twice", async () => {
      const campaign = newCampaignSubmission(await submitted())
      const taken = await under.registry.submit(campaign)
      expect(taken).toMatchObject({ answer: "taken", review: { answer: "waiting" } })
      expect(await under.registry.submit(campaign)).toEqual(taken)
      expect(await under.registry.checkStatus(submissionQueryOf(campaign))).toEqual(taken)
    })

    it("knows nothing of what it never got, though another one of that name is there", async () => {
      await campaignOf()
      const unknown = { answer: "unknown" }
      expect(await under.registry.checkStatus(submissionQueryOf(newBusinessSubmission()))).toEqual(
        unknown,
      )
      expect(
        await under.registry.checkStatus(submissionQueryOf(newCampaignSubmission("none"))),
      ).toEqual(unknown)
    })

    it("takes nothing where it is unavailable, and may have where it is silent", async () => {
      const ref = await submitted()
      for (const make of [newBusinessSubmission, () => newCampaignSubmission(ref)]) {
        const [never, perhaps] = [make(), make()]
        await under.next("unavailable")
        await expect(under.registry.submit(never)).rejects.toThrow(ProviderUnavailable)
        expect(await under.registry.checkStatus(submissionQueryOf(never))).toEqual({
          answer: "unknown",
        })
        await under.next("silent")
        await expect(under.registry.submit(perhaps)).rejects.toThrow(ProviderOutcomeUnknown)
        expect(await under.registry.checkStatus(submissionQueryOf(perhaps))).toMatchObject({
          answer: "taken",
        })
      }
    })

    it("says that something is approved once it is", async () => {
      const business = newBusinessSubmission()
      const ref = acceptedReferenceIn(await under.registry.submit(business))
      await under.approve()
      const approved = { answer: "approved", reasons: [] }
      expect(await under.registry.checkStatus(submissionQueryOf(business))).toMatchObject({
        review: approved,
      })
      const campaign = newCampaignSubmission(ref)
      const campaignRef = acceptedReferenceIn(await under.registry.submit(campaign))
      await under.approve()
      expect(await under.registry.checkStatus(submissionQueryOf(campaign))).toMatchObject({
        review: approved,
      })
      const registration = newNumberRegistration(campaignRef)
      await under.registry.registerNumber(registration)
      await under.approve()
      expect(await under.registry.registerNumber(registration)).toEqual(approved)
    })

    it("registers a number though nobody heard what came of it", async () => {
      const registration = newNumberRegistration(await campaignOf())
      await under.next("unavailable")
      await expect(under.registry.registerNumber(registration)).rejects.toThrow(ProviderUnavailable)
      await under.next("silent")
      await expect(under.registry.registerNumber(registration)).rejects.toThrow(
        ProviderOutcomeUnknown,
      )
      const { answer } = await under.registry.registerNumber(registration)
      expect(["waiting", "approved"]).toContain(answer)
      expect(await under.registry.registerNumber(registration)).toMatchObject({ answer })
    })

    it("takes the right code of a sole proprietor, and no other", async () => {
      const ref = acceptedReferenceIn(
        await under.registry.submit(newBusinessSubmission({ business: SOLE_PROPRIETOR_BUSINESS })),
      )
      await under.approve()
      const code = under.codeFor(ref)
      expect(await under.registry.verifyCode(ref, `${code}0`)).toBe(false)
      expect(await under.registry.verifyCode(ref, code)).toBe(true)
    })

    it("ends a campaign once and again, and one that it never had", async () => {
      const ended = { companyId: "co_1", isTest: false, ref: await campaignOf() } as const
      await under.registry.endCampaign(ended)
      await under.registry.endCampaign(ended)
      await expect(under.registry.endCampaign({ ...ended, ref: "none" })).resolves.toBeUndefined()
      await expect(under.registry.endCampaign({ ...ended, ref: null })).resolves.toBeUndefined()
    })

    it("believes nothing that nobody signed", () => {
      const target = "/carriers/telnyx/registration/reg_1/co_1/0123456789abcdef0123456789abcdef"
      const call = { target, header: () => null, raw: Buffer.from("{}") }
      expect(under.registry.readWebhook(call, Date.now())).toBe("forged")
    })
  })
}

const opened: TelnyxRegistryFixture[] = []
afterEach(async () => {
  const closed = opened.splice(0).map(({ server }) => server)
  await Promise.all(closed.map((one) => one.close()))
  // Whatever was asked is in the vendor's own description, within its limits.
  const against = closed.flatMap((one) => one.vendorFaults)
  if (against.length > 0) throw new Error(against.join("; "))
})

async function builtIn(): Promise<RegistryUnderTest> {
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
        const isOfOne = brand["entityType"] === "SOLE_PROPRIETOR"
        Object.assign(brand, { status: "OK" }, isOfOne ? {} : { identityStatus: "VERIFIED" })
        const ref = String(brand["brandId"])
        // Whoever looks has the code texted.
        if (isOfOne)
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

registryContract("the built-in registry", builtIn)
registryContract("Telnyx", telnyx)
registryContract("Telnyx, with the built-in registry for test mode", async () => {
  const [{ registry: tests }, real] = await Promise.all([builtIn(), telnyx()])
  return { ...real, registry: combineRegistries(tests, real.registry) }
})

describe("Telnyx, where it does not answer as it should", () => {
  it("is sent nothing twice where its answer is lost: it is asked", async () => {
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
  ])("throws what %i comes to, for a business, a campaign and a number", async (status, fault) => {
    const { registry, server } = await telnyx()
    const refuse = () => {
      server.nextBehavior = { status, code: "10007" }
    }
    const ref = acceptedReferenceIn(await registry.submit(newBusinessSubmission()))
    const campaignRef = acceptedReferenceIn(await registry.submit(newCampaignSubmission(ref)))
    refuse()
    await expect(registry.submit(newBusinessSubmission())).rejects.toThrow(fault)
    refuse()
    await expect(registry.submit(newCampaignSubmission(ref))).rejects.toThrow(fault)
    refuse()
    await expect(registry.registerNumber(newNumberRegistration(campaignRef))).rejects.toThrow(fault)
    refuse()
    const tollFree = newNumberRegistration(campaignRef, { kind: "toll_free" })
    await expect(registry.registerNumber(tollFree)).rejects.toThrow(fault)
    refuse()
    const ended = { companyId: "co_1", isTest: false, ref: campaignRef } as const
    await expect(registry.endCampaign(ended)).rejects.toThrow(fault)
    refuse()
    await expect(registry.verifyCode(ref, "123456")).rejects.toThrow(fault)
  })

  it.each([400, 404, 422])("takes nothing where it answers %i, and says why", async (status) => {
    const { registry, server } = await telnyx()
    const ref = acceptedReferenceIn(await registry.submit(newBusinessSubmission()))
    const campaignRef = acceptedReferenceIn(await registry.submit(newCampaignSubmission(ref)))
    const reasons = ["By the simulated server."]
    const refuse = () => {
      server.nextBehavior = { status, code: "10015" }
    }
    refuse()
    expect(await registry.submit(newBusinessSubmission())).toEqual({ answer: "not_taken", reasons })
    refuse()
    expect(await registry.submit(newCampaignSubmission(ref))).toEqual({
      answer: "not_taken",
      reasons,
    })
    refuse()
    const rejected = { answer: "rejected", reasons }
    expect(await registry.registerNumber(newNumberRegistration(campaignRef))).toEqual(rejected)
  })
})

describe("test mode, where Telnyx is the registry", () => {
  it("is the built-in registry's, and so is whatever that has a name for", async () => {
    const [{ registry: tests }, { registry: real, server }] = await Promise.all([
      builtIn(),
      telnyx(),
    ])
    const joined = combineRegistries(tests, real)
    const business = newBusinessSubmission({ isTest: true })
    const ref = `builtin-${business.submissionId}`
    expect(await joined.submit(business)).toMatchObject({ answer: "taken", ref })
    expect(await joined.checkStatus(submissionQueryOf(business))).toMatchObject({ ref })
    expect(
      await joined.checkStatus({ ...submissionQueryOf(business, ref), isTest: false }),
    ).toMatchObject({ ref })
    expect(await joined.verifyCode(ref, "123456")).toBe(true)
    const registration = newNumberRegistration(ref, { isTest: true })
    expect(await joined.registerNumber(registration)).toMatchObject({ answer: "approved" })
    await joined.endCampaign({ companyId: "co_1", isTest: false, ref })
    expect(server.requests).toEqual([])
    expect(joined).toMatchObject({ isSimulator: false, isIdempotent: false })
  })
})
