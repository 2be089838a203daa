/** The operations `charge list`, `charge show` and `message list`. */
import { describe, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import {
  fakeHost,
  fakeOperation,
  operatorRefusalOf,
  runTestCommand,
  splitWords,
} from "./fake-host.ts"

const TEXTS = "/api/v1/phone/messages"
const JANUARY = "2031-01-31T23:59:59.000Z"
const FEBRUARY = "2031-02-01T00:00:00.000Z"
const world = await ownWorld("time")
const SPENDING = { class: "ai", dollars: "0.1", item: "tokens" }

function spend(id: string, input: object = {}) {
  return world.operate("charge", { company: company.companyId, ...SPENDING, id, ...input })
}

function text(to: string) {
  return world.call(company.key, "POST", TEXTS, { body: { to, body: "STOP to end" } })
}

const list = (input: object = {}) =>
  world.operate("charge list", { company: company.companyId, ...input })

async function idsOf(input: object): Promise<readonly string[]> {
  const { charges } = await list(input)
  return charges.map(({ chargeId }: { chargeId: string }) => chargeId)
}

await world.operate("clock set", { to: "2031-01-15T12:00:00.000Z" })
await makeCallsFree(world)
const company = await makeCompany(world)
const other = await makeCompany(world)
await text("+14155550101")
await text("+14155550102")
await spend("run-1", { dollars: "0.5", item: "chat completion" })
await spend("run-2", { person: company.ownerId })
await spend("shared")
await world.operate("charge", { ...SPENDING, company: other.companyId, id: "shared" })
await world.operate("clock set", { to: JANUARY })
await spend("late")
await world.operate("clock set", { to: FEBRUARY })
await spend("early")

describe("charge list", () => {
  it("lists charges newest first, each with its item and spender", async () => {
    const { charges, next } = await list()
    expect(next).toBeNull()
    // Two texts, five operator charges and one night's API calls.
    expect(charges).toHaveLength(8)
    expect(charges.slice(0, 2)).toMatchObject([{ chargeId: "early" }, { chargeId: "late" }])
    expect(charges.at(-1)).toMatchObject({
      item: "text_segment",
      quantity: 1,
      unitPriceMicros: 9_000,
      amountMicros: 9_000,
      keyId: company.keyId,
      personId: company.ownerId,
      class: "general",
      state: "settled",
      resource: expect.stringMatching(/^msg_\w+$/),
    })
  })

  it("filters by UTC month, key, person and item", async () => {
    expect(await idsOf({ month: "2031-02" })).toEqual(["early"])
    expect(await idsOf({ month: "2031-01" })).toContain("late")
    expect(await idsOf({ month: "2031-01" })).not.toContain("early")
    expect(await idsOf({ month: "2031-03" })).toEqual([])
    expect(await idsOf({ key: company.keyId })).toHaveLength(3)
    expect(await idsOf({ key: other.keyId })).toEqual([])
    expect(await idsOf({ person: company.ownerId, item: "tokens" })).toEqual(["run-2"])
    expect(await idsOf({ item: "chat completion" })).toEqual(["run-1"])
  })

  it("filters by the exact id of a resource", async () => {
    const { charges } = await list({ item: "text_segment" })
    const [newest, oldest] = charges
    expect(await idsOf({ resource: newest.resource })).toEqual([newest.chargeId])
    expect(await idsOf({ resource: oldest.resource, item: "tokens" })).toEqual([])
    expect(await idsOf({ resource: newest.resource.slice(0, -1) })).toEqual([])
    expect(await idsOf({ resource: `${newest.resource}@` })).toEqual([])
    expect(await idsOf({ resource: "msg_%" })).toEqual([])
  })

  it("accepts an item's name in the price book, its short name and its name on the bill", async () => {
    const texts = await idsOf({ item: "text_segment" })
    expect(texts).toHaveLength(2)
    for (const item of ["Text message segment", "text message segment", "text", "Text-Segment"]) {
      expect([item, await idsOf({ item })]).toEqual([item, texts])
    }
    // These items exist but were never charged.
    expect(await idsOf({ item: "Publish" })).toEqual([])
    expect(await idsOf({ item: "tokens", month: "2031-03" })).toEqual([])
  })

  it("prefers a charged item with exactly this name to a short name", async () => {
    const third = await makeCompany(world)
    const charged = { ...SPENDING, company: third.companyId }
    await world.operate("charge", { ...charged, item: "text", id: "own" })
    const { charges } = await list({ company: third.companyId, item: "text" })
    expect(charges).toMatchObject([{ chargeId: "own", item: "text" }])
  })

  it("rejects an unknown item and suggests the nearest one", async () => {
    for (const [item, nearest] of [
      ["text_segmnt", "Did you mean text_segment?"],
      ["Text message segments", "Did you mean Text message segment?"],
      ["chat completions", "Did you mean chat completion?"],
      ["a thing never bought", '"price list" shows the priced items.'],
    ] as const) {
      const { code, message } = await operatorRefusalOf(list({ item }))
      expect([code, message]).toEqual(["not_found", `There is no item "${item}". ${nearest}`])
    }
    expect(
      (await operatorRefusalOf(list({ company: other.companyId, item: "chat completion" }))).code,
    ).toBe("not_found")
  })

  it("rejects keys and people that are not named by id", async () => {
    expect((await operatorRefusalOf(list({ key: "agent" }))).code).toBe("not_found")
    expect((await operatorRefusalOf(list({ person: "ada" }))).code).toBe("not_found")
  })

  it("continues a page with --before", async () => {
    const seen: string[] = []
    let before: number | undefined
    for (;;) {
      const { charges, next } = await list({
        limit: 3,
        ...(before === undefined ? {} : { before }),
      })
      seen.push(...charges.map(({ chargeId }: { chargeId: string }) => chargeId))
      if (next === null) break
      expect(charges).toHaveLength(3)
      before = next
    }
    expect(seen).toEqual(await idsOf({}))
  })
})

describe("charge show", () => {
  it("shows every field of a charge and the reason of each refund", async () => {
    const part = { chargeId: "run-1", dollars: "0.2" }
    await world.operate("charge refund", part, "half of it failed")
    const shown = await world.operate("charge show", { chargeId: "run-1" })
    expect(shown).toMatchObject({
      companyId: company.companyId,
      chargeId: "run-1",
      kind: "charge",
      item: "chat completion",
      quantity: 1,
      unitPriceMicros: 500_000,
      priceVersion: 0,
      amountMicros: 500_000,
      class: "ai",
      via: "company",
      keyId: null,
      personId: null,
      resource: null,
      state: "settled",
      refundedMicros: 200_000,
      at: "2031-01-15T12:00:00.000Z",
      refunds: [{ at: FEBRUARY, amountMicros: 200_000, reason: "half of it failed" }],
    })
  })

  it("does not show refunds of another charge", async () => {
    const shown = await world.operate("charge show", { chargeId: "run-2" })
    expect(shown).toMatchObject({ refundedMicros: 0, refunds: [] })
  })

  it("asks for the company if several companies have a charge with this id", async () => {
    const { message } = await operatorRefusalOf(
      world.operate("charge show", { chargeId: "shared" }),
    )
    expect(message).toContain("Choose one with --company")
    const named = { chargeId: "shared", company: other.companyId }
    expect(await world.operate("charge show", named)).toMatchObject({ companyId: other.companyId })
  })

  it("reports that a charge does not exist, or that it was refused", async () => {
    const nothing = await operatorRefusalOf(world.operate("charge show", { chargeId: "nothing" }))
    expect([nothing.code, nothing.message]).toEqual(["not_found", "There is no charge nothing."])
    await operatorRefusalOf(spend("too-much", { dollars: "500" }))
    await world.operate("refusals list", { company: company.companyId })
    const refused = await operatorRefusalOf(world.operate("charge show", { chargeId: "too-much" }))
    expect(refused.message).toContain(`refusals list --company ${company.companyId}`)
    const ofOther = { chargeId: "run-1", company: other.companyId }
    expect((await operatorRefusalOf(world.operate("charge show", ofOther))).code).toBe("not_found")
  })
})

describe("message list", () => {
  const messages = (input: object = {}) =>
    world.operate("message list", { company: company.companyId, ...input })

  it("lists texts with the newest last, each with its charge", async () => {
    const { messages: all, next } = await messages()
    expect(next).toBeNull()
    expect(all).toMatchObject([
      { direction: "out", to: "+14155550101", body: "STOP to end", keyId: company.keyId },
      { to: "+14155550102", errorCode: null },
    ])
    const { charges } = await list({ key: company.keyId, item: "text_segment" })
    expect(all[1].chargeId).toBe(charges[0].chargeId)
  })

  it("filters by time, and continues a page with --before", async () => {
    const { messages: all } = await messages()
    const [first, second] = all.map(({ at }: { at: string }) => at)
    expect((await messages({ since: first })).messages).toEqual([all[1]])
    expect((await messages({ before: second })).messages).toEqual([all[0]])
    expect(await messages({ limit: 1 })).toEqual({ messages: [all[1]], next: second })
    expect((await world.operate("message list", { company: other.companyId })).messages).toEqual([])
  })
})

/** The text that the command line prints for a command. */
async function shownFor(line: string): Promise<string> {
  const [topic, verb] = line.split(" ")
  const answering = fakeOperation(`${topic} ${verb}`, async (_, input) => {
    const found = PROGRAM.operations.find(({ name }) => name === `${topic} ${verb}`)
    return world.operate(`${topic} ${verb}`, found?.input.parse(input) as object)
  })
  return (await runTestCommand(splitWords(line), fakeHost([answering]))).stdout
}

describe("the text output", () => {
  it("shows a charge per line, and how to see more", async () => {
    const shown = await shownFor(`charge list --company ${company.companyId} --limit 1`)
    expect(shown).toMatch(/^revision +at +charge id +item +quantity +amount +state/)
    expect(shown).toMatch(/early +tokens +1 +\$0\.10 +settled/)
    expect(shown).toMatch(/\nThere are more; continue with --before \d+\n$/)
  })

  it("shows the refunds below a charge", async () => {
    const shown = await shownFor("charge show run-1")
    expect(shown).toMatch(/amount: \$0\.50\n/)
    expect(shown).toMatch(/\nRefunds:\n.*\n.*\$0\.20 +half of it failed\n$/)
    expect(await shownFor("charge show run-2")).not.toContain("Refunds:")
  })

  it("shows a text per line, without its body", async () => {
    const shown = await shownFor(`message list --company ${company.companyId}`)
    expect(shown).toMatch(/out +\+1\d+ +\+14155550102 +sent/)
    expect(shown).not.toContain("STOP")
  })

  it("shows for each operation the permission it needs and whether it can be granted", async () => {
    const { stdout, code } = await runTestCommand(splitWords("operation list"), fakeHost([]))
    expect(code).toBe(0)
    expect(stdout).toMatch(/\nphone\.messages\.send +Use phone +yes\n/)
    expect(stdout).toMatch(/\nai\.models\.use +- +no\n/)
  })
})
