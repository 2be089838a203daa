/** The registries keep their contract, and Telnyx's whatever is answered. */
import { beforeEach, describe, expect, it, afterEach } from "vitest"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { openBuiltInRegistry, byMode } from "../../adapters/providers/registry/built-in.ts"
import type { Registry } from "../../adapters/providers/registry/port.ts"
import {
  OF_ONE,
  askedOf,
  newBusiness,
  newCampaign,
  newRegistration,
  refIn,
  openRegistryOfTelnyx,
} from "../support/registrations.ts"
import type { RegistryOfTelnyx } from "../support/registrations.ts"
import { simulatorsOfTests } from "../voice/simulators-of-tests.ts"

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
    const submitted = async () => refIn(await under.registry.submit(newBusiness()))
    const campaignOf = async () =>
      refIn(await under.registry.submit(newCampaign(await submitted())))

    it("takes a business and knows it from then on, by our id and by its own", async () => {
      const business = newBusiness()
      const taken = await under.registry.submit(business)
      expect(taken).toMatchObject({ answer: "taken", review: { answer: "waiting" } })
      expect(await under.registry.ask(askedOf(business))).toEqual(taken)
      expect(await under.registry.ask(askedOf(business, refIn(taken)))).toEqual(taken)
    })

    it("takes a campaign of it and knows that from then on, though it comes twice", async () => {
      const campaign = newCampaign(await submitted())
      const taken = await under.registry.submit(campaign)
      expect(taken).toMatchObject({ answer: "taken", review: { answer: "waiting" } })
      expect(await under.registry.submit(campaign)).toEqual(taken)
      expect(await under.registry.ask(askedOf(campaign))).toEqual(taken)
    })

    it("knows nothing of what it never got, though another one of that name is there", async () => {
      await campaignOf()
      const unknown = { answer: "unknown" }
      expect(await under.registry.ask(askedOf(newBusiness()))).toEqual(unknown)
      expect(await under.registry.ask(askedOf(newCampaign("none")))).toEqual(unknown)
    })

    it("takes nothing where it is unavailable, and may have where it is silent", async () => {
      const ref = await submitted()
      for (const make of [newBusiness, () => newCampaign(ref)]) {
        const [never, perhaps] = [make(), make()]
        await under.next("unavailable")
        await expect(under.registry.submit(never)).rejects.toThrow(ProviderUnavailable)
        expect(await under.registry.ask(askedOf(never))).toEqual({ answer: "unknown" })
        await under.next("silent")
        await expect(under.registry.submit(perhaps)).rejects.toThrow(ProviderSilent)
        expect(await under.registry.ask(askedOf(perhaps))).toMatchObject({ answer: "taken" })
      }
    })

    it("says that something is approved once it is", async () => {
      const business = newBusiness()
      const ref = refIn(await under.registry.submit(business))
      await under.approve()
      const approved = { answer: "approved", reasons: [] }
      expect(await under.registry.ask(askedOf(business))).toMatchObject({ review: approved })
      const campaign = newCampaign(ref)
      const campaignRef = refIn(await under.registry.submit(campaign))
      await under.approve()
      expect(await under.registry.ask(askedOf(campaign))).toMatchObject({ review: approved })
      const registration = newRegistration(campaignRef)
      await under.registry.register(registration)
      await under.approve()
      expect(await under.registry.register(registration)).toEqual(approved)
    })

    it("registers a number though nobody heard what came of it", async () => {
      const registration = newRegistration(await campaignOf())
      await under.next("unavailable")
      await expect(under.registry.register(registration)).rejects.toThrow(ProviderUnavailable)
      await under.next("silent")
      await expect(under.registry.register(registration)).rejects.toThrow(ProviderSilent)
      const { answer } = await under.registry.register(registration)
      expect(["waiting", "approved"]).toContain(answer)
      expect(await under.registry.register(registration)).toMatchObject({ answer })
    })

    it("takes the right code of a sole proprietor, and no other", async () => {
      const ref = refIn(await under.registry.submit(newBusiness({ business: OF_ONE })))
      await under.approve()
      const code = under.codeFor(ref)
      expect(await under.registry.giveCode(ref, `${code}0`)).toBe(false)
      expect(await under.registry.giveCode(ref, code)).toBe(true)
    })

    it("ends a campaign once and again, and one that it never had", async () => {
      const ended = { companyId: "co_1", isTest: false, ref: await campaignOf() } as const
      await under.registry.end(ended)
      await under.registry.end(ended)
      await expect(under.registry.end({ ...ended, ref: "none" })).resolves.toBeUndefined()
      await expect(under.registry.end({ ...ended, ref: null })).resolves.toBeUndefined()
    })

    it("believes nothing that nobody signed", () => {
      const target = "/carriers/telnyx/registration/reg_1/co_1/0123456789abcdef0123456789abcdef"
      const call = { target, header: () => null, raw: Buffer.from("{}") }
      expect(under.registry.read(call, Date.now())).toBe("forged")
    })
  })
}

const opened: RegistryOfTelnyx[] = []
afterEach(async () => {
  const closed = opened.splice(0).map(({ server }) => server)
  await Promise.all(closed.map((one) => one.close()))
  // Whatever was asked is in the vendor's own description, within its limits.
  const against = closed.flatMap((one) => one.against)
  if (against.length > 0) throw new Error(against.join("; "))
})

async function builtIn(): Promise<RegistryUnderTest> {
  const { memory, simulators } = simulatorsOfTests()
  const pacer = { elapsedMs: () => 0, pause: async () => undefined }
  const set = (outcome: "unavailable" | "silent" | "approve") =>
    simulators.set({ name: "registration", outcome, times: 1 })
  return {
    registry: openBuiltInRegistry({ memory, simulators, pacer }),
    next: set,
    approve: () => set("approve"),
    codeFor: () => "123456",
  }
}

async function telnyx(): Promise<RegistryUnderTest & RegistryOfTelnyx> {
  const one = await openRegistryOfTelnyx()
  opened.push(one)
  const { brands, campaigns, assignments, codes } = one.server.registry
  return {
    ...one,
    next: (outcome) => {
      one.server.next = outcome
    },
    approve: async () => {
      for (const brand of brands) {
        const isOfOne = brand["entityType"] === "SOLE_PROPRIETOR"
        Object.assign(brand, { status: "OK" }, isOfOne ? {} : { identityStatus: "VERIFIED" })
        const ref = String(brand["brandId"])
        // Whoever looks has the code texted.
        if (isOfOne) await one.registry.ask(askedOf(newBusiness({ business: OF_ONE }), ref))
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
  return { ...real, registry: byMode(tests, real.registry) }
})

describe("Telnyx, where it does not answer as it should", () => {
  it("is sent nothing twice where its answer is lost: it is asked", async () => {
    const { registry, server, sent } = await telnyx()
    const business = newBusiness()
    server.next = "silent"
    await expect(registry.submit(business)).rejects.toThrow(ProviderSilent)
    const ref = refIn(await registry.ask(askedOf(business)))
    expect(server.registry.brands).toMatchObject([{ brandId: ref }])
    const campaign = newCampaign(ref)
    server.next = "silent"
    await expect(registry.submit(campaign)).rejects.toThrow(ProviderSilent)
    expect(await registry.ask(askedOf(campaign))).toMatchObject({ answer: "taken" })
    expect(sent("POST /10dlc/brand")).toHaveLength(1)
    expect(sent("POST /10dlc/campaignBuilder")).toHaveLength(1)
  })

  it.each([
    [429, ProviderUnavailable],
    [401, ProviderUnavailable],
    [402, ProviderUnavailable],
    [403, ProviderUnavailable],
    [307, ProviderSilent],
    [408, ProviderSilent],
    [409, ProviderSilent],
    [425, ProviderSilent],
    [500, ProviderSilent],
    [502, ProviderSilent],
    [503, ProviderSilent],
    [504, ProviderSilent],
  ])("throws what %i comes to, for a business, a campaign and a number", async (status, fault) => {
    const { registry, server } = await telnyx()
    const refuse = () => {
      server.next = { status, code: "10007" }
    }
    const ref = refIn(await registry.submit(newBusiness()))
    const campaignRef = refIn(await registry.submit(newCampaign(ref)))
    refuse()
    await expect(registry.submit(newBusiness())).rejects.toThrow(fault)
    refuse()
    await expect(registry.submit(newCampaign(ref))).rejects.toThrow(fault)
    refuse()
    await expect(registry.register(newRegistration(campaignRef))).rejects.toThrow(fault)
    refuse()
    const tollFree = newRegistration(campaignRef, { kind: "toll_free" })
    await expect(registry.register(tollFree)).rejects.toThrow(fault)
    refuse()
    const ended = { companyId: "co_1", isTest: false, ref: campaignRef } as const
    await expect(registry.end(ended)).rejects.toThrow(fault)
    refuse()
    await expect(registry.giveCode(ref, "123456")).rejects.toThrow(fault)
  })

  it.each([400, 404, 422])("takes nothing where it answers %i, and says why", async (status) => {
    const { registry, server } = await telnyx()
    const ref = refIn(await registry.submit(newBusiness()))
    const campaignRef = refIn(await registry.submit(newCampaign(ref)))
    const reasons = ["By the stand-in."]
    const refuse = () => {
      server.next = { status, code: "10015" }
    }
    refuse()
    expect(await registry.submit(newBusiness())).toEqual({ answer: "not_taken", reasons })
    refuse()
    expect(await registry.submit(newCampaign(ref))).toEqual({ answer: "not_taken", reasons })
    refuse()
    const rejected = { answer: "rejected", reasons }
    expect(await registry.register(newRegistration(campaignRef))).toEqual(rejected)
  })
})

describe("test mode, where Telnyx is the registry", () => {
  it("is the built-in registry's, and so is whatever that has a name for", async () => {
    const [{ registry: tests }, { registry: real, server }] = await Promise.all([
      builtIn(),
      telnyx(),
    ])
    const joined = byMode(tests, real)
    const business = newBusiness({ isTest: true })
    const ref = `builtin-${business.submissionId}`
    expect(await joined.submit(business)).toMatchObject({ answer: "taken", ref })
    expect(await joined.ask(askedOf(business))).toMatchObject({ ref })
    expect(await joined.ask({ ...askedOf(business, ref), isTest: false })).toMatchObject({ ref })
    expect(await joined.giveCode(ref, "123456")).toBe(true)
    const registration = newRegistration(ref, { isTest: true })
    expect(await joined.register(registration)).toMatchObject({ answer: "approved" })
    await joined.end({ companyId: "co_1", isTest: false, ref })
    expect(server.heard).toEqual([])
    expect(joined).toMatchObject({ isBuiltIn: false, isRepeatable: false })
  })
})
