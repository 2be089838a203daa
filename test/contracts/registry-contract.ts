/** What every registry keeps: what was sent is known by our id of it, whatever was answered. */
import { beforeEach, describe, expect, it } from "vitest"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { Registry } from "../../adapters/providers/registry/port.ts"
import {
  OF_ONE,
  askedOf,
  newBusiness,
  newCampaign,
  newRegistration,
  refIn,
} from "../support/registrations.ts"

/** A registry, and how a test has it do something else. */
export interface RegistryUnderTest {
  readonly registry: Registry
  /** What it does to the next thing that is sent. */
  readonly next: (outcome: "unavailable" | "silent") => Promise<void> | void
  /** Has everything that was sent approved. */
  readonly approve: () => Promise<void> | void
  /** The code that was texted for a business. */
  readonly codeFor: (businessRef: string) => string
}

/** Runs the contract. */
export function registryContract(name: string, open: () => Promise<RegistryUnderTest>): void {
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
