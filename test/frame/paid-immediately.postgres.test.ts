/** What is charged and done at once: final, without an intent; given back where nothing comes of it. */
import { z } from "zod"
import { beforeEach, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { PRICES_STREAM } from "../../domain/charging/aggregates.ts"
import { priceOfItem } from "../../domain/charging/price-book.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import { immediatePaidRoute } from "../../src/frame/effects/immediate-paid-route.ts"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import { crashAtStep, newIdempotencyKey } from "../api/interrupted-requests.ts"
import type { Company } from "../support/world.ts"
import { makeCallsFree, makeCompany, ownWorld, setLimit } from "../support/world.ts"

const URL = "/api/v1/pretended/:area/hints"
const HINTS = "/api/v1/pretended/north/hints"
const PRICE = 3_000

let acts: () => Promise<string>
let asked: string[]

const hints = immediatePaidRoute({
  name: "askHint",
  method: "POST",
  url: URL,
  group: "pretended",
  summary: "Ask for a hint",
  operation: "lookup.address.suggest",
  isCounted: true,
  params: z.object({ area: z.string() }),
  body: z.object({ about: z.string() }),
  reply: z.object({ hint: z.string() }),
  refusalCodes: ["conflict", "spend_limit_reached", "payment_required"],
  price: async ({ runner }, _caller, { body }) => {
    if (body.about === "nothing") return { refusal: refusal("conflict", "That has no price.") }
    const price = await runner.read(PRICES_STREAM, (book) =>
      priceOfItem(book, "address_suggestion"),
    )
    const { unitPriceMicros: amountMicros } = price
    return { item: "address_suggestion", quantity: 1, ...price, amountMicros }
  },
  provider: "the finder",
  callProvider: async (_ports, _caller, { body, params }) => {
    asked.push(`${params.area} ${body.about}`)
    const hint = await acts()
    return hint === "refused"
      ? { refusal: refusal("conflict", "The finder refused it.") }
      : { reply: { hint } }
  },
  refundReason: "the finder did not find anything out",
})

const program = assemble([
  ...SLICES,
  { name: "pretended", groups: { pretended: "Hints." }, routes: [hints] },
])
const world = await ownWorld("settings", { program })
await makeCallsFree(world)
let company: Company
beforeEach(async () => {
  asked = []
  acts = async () => "warmer"
  company = await makeCompany(world)
})

const ask = (about: string, idempotencyKey?: string) =>
  world.call(company.key, "POST", HINTS, {
    body: { about },
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
  })

/** What was charged and what came back of it, by the bill. */
async function lines(): Promise<readonly string[]> {
  const { body } = await world.call(company.key, "GET", "/api/v1/billing/lines")
  return body.lines
    .filter(({ kind }: { kind: string }) => kind === "charge" || kind === "give_back")
    .map((line: { kind: string; amountMicros: number }) => `${line.kind} ${line.amountMicros}`)
}
const open = async (): Promise<readonly object[]> =>
  (await world.operate("charge pending", { company: company.companyId })).charges

it("is answered, and its charge is final from the beginning", async () => {
  const { status, body, headers } = await ask("trees")
  expect([status, body, asked]).toEqual([200, { hint: "warmer" }, ["north trees"]])
  expect(headers["ledger-position"]).toBeDefined()
  await world.operate("wait")
  expect([await lines(), await open()]).toEqual([[`charge -${PRICE}`], []])
})

it("costs nothing where it has no price, does not fit, or is no request", async () => {
  expect(await ask("nothing")).toMatchObject({ status: 409 })
  await setLimit(world, company, { dollars: "0.002" })
  expect(await ask("trees")).toMatchObject({
    status: 429,
    body: { error: "spend_limit_reached" },
  })
  await world.operate("wait")
  expect([await lines(), asked]).toEqual([[], []])
})

it.each([
  ["does nothing", new ProviderUnavailable("away"), 503],
  ["is silent", new ProviderOutcomeUnknown("no answer"), 503],
  ["refuses it", null, 409],
] as const)("is given back where the provider %s", async (_what, error, status) => {
  acts = async () => {
    if (error !== null) throw error
    return "refused"
  }
  const answer = await ask("trees")
  expect(answer.status).toBe(status)
  expect(answer.headers["retry-after"]).toBe(status === 503 ? "5" : undefined)
  await world.operate("wait")
  expect([await lines(), await open()]).toEqual([[`charge -${PRICE}`, `give_back ${PRICE}`], []])
})

it("is a doubt where the program itself fails: the charge stays, and its name is told", async () => {
  acts = () => Promise.reject(new Error("a fault of ours"))
  const { status, body } = await ask("trees", "in doubt")
  expect([status, body.chargeId]).toEqual([503, expect.stringMatching(/^chg_/)])
  acts = async () => "warmer"
  // The same key does what was paid for.
  expect(await ask("trees", "in doubt")).toMatchObject({ status: 200 })
  await world.operate("wait")
  expect(await lines()).toEqual([`charge -${PRICE}`])
})

it("is charged once under one key, and again under another or none", async () => {
  const first = await ask("trees", "one")
  const again = await ask("trees", "one")
  expect([again.body, again.headers["idempotency-replayed"]]).toEqual([first.body, "true"])
  await ask("trees", "another")
  await ask("trees")
  await ask("trees")
  await world.operate("wait")
  expect([(await lines()).length, asked.length]).toEqual([4, 4])
})

it("comes back whole, and no more, where an operator refunded a part before it failed", async () => {
  acts = () => Promise.reject(new Error("a fault of ours"))
  const { body } = await ask("trees", "in part")
  const { chargeId } = body
  await world.operate("charge refund", { chargeId, dollars: "0.002" }, "two thirds of it failed")
  acts = () => Promise.reject(new ProviderUnavailable("away"))
  expect(await ask("trees", "in part")).toMatchObject({ status: 503 })
  await world.operate("wait")
  expect(await lines()).toEqual([`charge -${PRICE}`, "give_back 2000", "give_back 1000"])
})

it("is charged anew under the same key once it was given back", async () => {
  acts = () => Promise.reject(new ProviderUnavailable("away"))
  expect(await ask("trees", "freed")).toMatchObject({ status: 503 })
  acts = async () => "warmer"
  expect(await ask("trees", "freed")).toMatchObject({ status: 200 })
  await world.operate("wait")
  expect(await lines()).toEqual([`charge -${PRICE}`, `give_back ${PRICE}`, `charge -${PRICE}`])
})

it.each(["before", "after"] as const)(
  "is charged once by whoever goes on for a process that died right %s it charged",
  async (when) => {
    const idempotencyKey = newIdempotencyKey()
    const request = { key: company.key, url: HINTS, body: { about: "trees" }, idempotencyKey }
    await crashAtStep(world, { step: "Charge", when }, request, program)
    expect(await ask("trees", idempotencyKey)).toMatchObject({
      status: 200,
      body: { hint: "warmer" },
    })
    await world.operate("wait")
    expect([await lines(), asked]).toEqual([[`charge -${PRICE}`], ["north trees"]])
  },
)

it("is charged once where the charge of a process that died arrives behind a refusal", async () => {
  const idempotencyKey = newIdempotencyKey()
  const request = { key: company.key, url: HINTS, body: { about: "trees" }, idempotencyKey }
  const { deliver } = await crashAtStep(world, { step: "Charge", when: "before" }, request, program)
  const ordered = { keyId: company.keyId, operations: ["phone.messages.send"] }
  await world.operate("key change", ordered)
  expect(await ask("trees", idempotencyKey)).toMatchObject({ status: 403 })
  await deliver()
  await world.operate("key change", { keyId: company.keyId, allOperations: true })
  expect(await ask("trees", idempotencyKey)).toMatchObject({ status: 200 })
  await world.operate("wait")
  expect([await lines(), asked]).toEqual([[`charge -${PRICE}`], ["north trees"]])
})

it("passes no limit, however many ask at once", async () => {
  await setLimit(world, company, { dollars: "0.03" })
  const answers = await Promise.all(Array.from({ length: 25 }, (_, i) => ask("trees", `k${i}`)))
  expect(answers.filter(({ status }) => status === 200).length).toBe(10)
  await world.operate("wait")
  expect((await lines()).length).toBe(10)
})
