/** What carriers say of what was sent, and which numbers can text by it. */
import { describe, expect, it } from "vitest"
import { bought } from "../phone/numbering.ts"
import { sendText } from "../phone/texting.ts"
import {
  BUSINESS,
  answerAs,
  asked,
  feesOf,
  partsOf,
  sendBusiness,
  sendCampaign,
  statusOf,
} from "./registering.ts"
import { BRAND, LIVE, reviewing } from "./reviewing.ts"

const { world, registryIs, advance, company, approvedBusiness } = await reviewing()

describe("what carriers say", () => {
  it("is asked for, more and more seldom, and shown with its reasons", async () => {
    const made = await company()
    await sendBusiness(world, made, LIVE)
    await advance("3d")
    expect(await partsOf(world, made)).toMatch(/^business waiting/)
    await registryIs("reject")
    await advance("1d")
    const { parts, overall } = await statusOf(world, made)
    expect(overall).toBe("rejected")
    expect(parts[0].reasons).toEqual(["The stand-in of the registry was told to reject it."])
  })

  it("costs the fee again behind a rejection, and nothing where they asked for something", async () => {
    const made = await company()
    await sendBusiness(world, made, LIVE)
    await answerAs(world, made, "business", "action-needed")
    expect((await sendBusiness(world, made)).status).toBe(200)
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`])
    await answerAs(world, made, "business", "rejected")
    expect((await sendBusiness(world, made)).status).toBe(200)
    expect(await feesOf(world, made)).toEqual([`${BRAND} final`, `${BRAND} final`])
  })

  it("is corrected within what carriers take of a correction, and 400 before its fee", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign", "action-needed")
    const fees = await feesOf(world, made)
    const draft = (await asked(world, made, "POST campaign/draft")).body
    const long = `${String(draft.samples[0])} ${"x".repeat(255)}`
    const campaign = { ...draft, brandType: "low_volume" }
    const saved = await asked(world, made, "PUT campaign", {
      ...campaign,
      samples: [draft.samples[0], long],
    })
    expect(saved.body.problems).toContainEqual(
      expect.objectContaining({ where: "samples.1", code: "too_long" }),
    )
    const refused = await sendCampaign(world, made, { rush: true })
    expect([refused.status, refused.body.error]).toEqual([400, "validation"])
    expect(Object.keys(refused.body.fields)).toEqual(["samples.1"])
    expect(await feesOf(world, made)).toEqual(fees)
    await asked(world, made, "PUT campaign", campaign)
    expect((await sendCampaign(world, made)).status).toBe(200)
  })

  it("is 400 before the fee where a toll-free number could not be verified by it", async () => {
    const made = await approvedBusiness()
    await bought(world, made, "+18005550142")
    const draft = (await asked(world, made, "POST campaign/draft")).body
    const messageFlow = `${String(draft.messageFlow)} ${"x".repeat(500)}`
    await asked(world, made, "PUT campaign", { ...draft, messageFlow, brandType: "low_volume" })
    const fees = await feesOf(world, made)
    const refused = await sendCampaign(world, made)
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([400, ["messageFlow"]])
    expect(await feesOf(world, made)).toEqual(fees)
  })

  it("on a number is asked for again as soon as the campaign is corrected", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign")
    await world.operate("wait")
    await registryIs("reject", 1)
    await bought(world, made)
    await world.operate("wait")
    expect(await partsOf(world, made)).toContain("number rejected")
    const draft = (await asked(world, made, "POST campaign/draft")).body
    const description = `${String(draft.description)} Nothing else is texted.`
    await asked(world, made, "PUT campaign", { ...draft, description, brandType: "low_volume" })
    await world.operate("wait")
    expect(await partsOf(world, made)).not.toContain("number rejected")
  })

  it("is no answer to what they do not have", async () => {
    const made = await company()
    for (const part of ["business", "campaign"]) {
      await expect(answerAs(world, made, part)).rejects.toThrow("nothing of this part")
    }
    await expect(answerAs(world, made, "number:num_1")).rejects.toThrow("No number")
  })

  it("has the numbers of an approved campaign registered, also those that are bought later", async () => {
    const made = await approvedBusiness()
    const { id } = await bought(world, made)
    await sendCampaign(world, made)
    expect((await sendText(world, made.key)).body.error).toBe("no_number")
    await answerAs(world, made, "campaign")
    await world.operate("wait")
    expect(await partsOf(world, made)).toBe("business approved, campaign approved, number approved")
    expect((await sendText(world, made.key)).status).toBe(200)
    const later = await bought(world, made)
    await world.operate("wait")
    const { parts, overall } = await statusOf(world, made)
    expect(overall).toBe("approved")
    expect(parts.map(({ part }: { part: string }) => part).slice(2)).toEqual([
      `number:${id}`,
      `number:${later.id}`,
    ])
    expect((await sendText(world, made.key, { from: later.id })).status).toBe(200)
  })

  it("takes texting away where an approval is taken back, and gives it again", async () => {
    const made = await approvedBusiness()
    await bought(world, made)
    await sendCampaign(world, made)
    await answerAs(world, made, "campaign")
    await world.operate("wait")
    await answerAs(world, made, "campaign", "action-needed", "Suspended.")
    const refused = await sendText(world, made.key)
    expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
    expect((await statusOf(world, made)).overall).toBe("action_needed")
    await answerAs(world, made, "campaign")
    expect((await sendText(world, made.key)).status).toBe(200)
  })

  it("goes with its company: its campaign is ended, and nothing personal is left", async () => {
    const made = await approvedBusiness()
    await sendCampaign(world, made)
    const { name } = await world.operate("company show", { company: made.companyId })
    await world.operate("company delete", { company: made.companyId, confirm: name })
    await advance("15d")
    const { work } = await world.operate("work list")
    expect(work.filter(({ state }: { state: string }) => state === "parked")).toEqual([])
  })
})

describe("a code of a sole proprietor", () => {
  it("is given back by an operator, and then the business is approved", async () => {
    const made = await company()
    const give = (pin: string) =>
      world.operate("registration code", { company: made.companyId, pin })
    await expect(give("123456")).rejects.toThrow("nothing of this part")
    const sole = { entityType: "sole_proprietor", brandName: "Ada Lane Bakes" }
    await asked(world, made, "PUT business", { ...BUSINESS, ...sole })
    await sendBusiness(world, made, { live: true, brandType: "sole_proprietor" })
    const [business] = (await statusOf(world, made)).parts
    expect(business).toMatchObject({ status: "action_needed" })
    await expect(give("1234")).rejects.toThrow("does not take")
    expect((await give("123456")).status).toBe("approved")
  })
})

describe("what an operator says for carriers", () => {
  it("stands nowhere in clear", async () => {
    const made = await company()
    await sendBusiness(world, made, LIVE)
    await answerAs(world, made, "business", "rejected", "Ada Lane is somebody else.")
    const { events } = await world.operate("audit show", {
      stream: `registration-${made.companyId}`,
    })
    expect(JSON.stringify(events)).not.toContain("Ada Lane")
    const [business] = (await statusOf(world, made)).parts
    expect(business.reasons).toEqual(["Ada Lane is somebody else."])
  })
})
