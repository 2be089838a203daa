/** Routes that charge and call the provider immediately: the charge is settled, and refunded if the call fails. */
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

let provider: () => Promise<string>
let calls: string[]

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
    calls.push(`${params.area} ${body.about}`)
    const hint = await provider()
    return hint === "refused"
      ? { refusal: refusal("conflict", "The finder refused it.") }
      : { reply: { hint } }
  },
  refundReason: "the finder returned no result",
})

const program = assemble([
  ...SLICES,
  { name: "pretended", groups: { pretended: "Hints." }, routes: [hints] },
])
const world = await ownWorld("settings", { program })
await makeCallsFree(world)
let company: Company
beforeEach(async () => {
  calls = []
  provider = async () => "warmer"
  company = await makeCompany(world)
})

const ask = (about: string, idempotencyKey?: string) =>
  world.call(company.key, "POST", HINTS, {
    body: { about },
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
  })

/** The charges and refunds on the bill. */
async function lines(): Promise<readonly string[]> {
  const { body } = await world.call(company.key, "GET", "/api/v1/billing/lines")
  return body.lines
    .filter(({ kind }: { kind: string }) => kind === "charge" || kind === "give_back")
    .map((line: { kind: string; amountMicros: number }) => `${line.kind} ${line.amountMicros}`)
}
const open = async (): Promise<readonly object[]> =>
  (await world.operate("charge pending", { company: company.companyId })).charges

it("a call is answered, and its charge is settled from the beginning", async () => {
  const { status, body, headers } = await ask("trees")
  expect([status, body, calls]).toEqual([200, { hint: "warmer" }, ["north trees"]])
  expect(headers["ledger-position"]).toBeDefined()
  await world.operate("wait")
  expect([await lines(), await open()]).toEqual([[`charge -${PRICE}`], []])
})

it("a call without a price or beyond a limit costs nothing", async () => {
  expect(await ask("nothing")).toMatchObject({ status: 409 })
  await setLimit(world, company, { dollars: "0.002" })
  expect(await ask("trees")).toMatchObject({
    status: 429,
    body: { error: "spend_limit_reached" },
  })
  await world.operate("wait")
  expect([await lines(), calls]).toEqual([[], []])
})

it.each([
  ["is unavailable", new ProviderUnavailable("away"), 503],
  ["does not answer", new ProviderOutcomeUnknown("no answer"), 503],
  ["rejects it", null, 409],
] as const)("a call is refunded if the provider %s", async (_case, error, status) => {
  provider = async () => {
    if (error !== null) throw error
    return "refused"
  }
  const answer = await ask("trees")
  expect(answer.status).toBe(status)
  expect(answer.headers["retry-after"]).toBe(status === 503 ? "5" : undefined)
  await world.operate("wait")
  expect([await lines(), await open()]).toEqual([[`charge -${PRICE}`, `give_back ${PRICE}`], []])
})

it("a call has an unknown outcome if the program fails: the charge stays, and the answer has its id", async () => {
  provider = () => Promise.reject(new Error("a fault of ours"))
  const { status, body } = await ask("trees", "unknown")
  expect([status, body.chargeId]).toEqual([503, expect.stringMatching(/^chg_/)])
  provider = async () => "warmer"
  // A retry with the same key executes the paid call.
  expect(await ask("trees", "unknown")).toMatchObject({ status: 200 })
  await world.operate("wait")
  expect(await lines()).toEqual([`charge -${PRICE}`])
})

it("a call is charged once per idempotency key, and each time without one", async () => {
  const first = await ask("trees", "one")
  const again = await ask("trees", "one")
  expect([again.body, again.headers["idempotency-replayed"]]).toEqual([first.body, "true"])
  await ask("trees", "another")
  await ask("trees")
  await ask("trees")
  await world.operate("wait")
  expect([(await lines()).length, calls.length]).toEqual([4, 4])
})

it("a failed call that an operator refunded in part is refunded up to its full amount", async () => {
  provider = () => Promise.reject(new Error("a fault of ours"))
  const { body } = await ask("trees", "in part")
  const { chargeId } = body
  await world.operate("charge refund", { chargeId, dollars: "0.002" }, "two thirds of it failed")
  provider = () => Promise.reject(new ProviderUnavailable("away"))
  expect(await ask("trees", "in part")).toMatchObject({ status: 503 })
  await world.operate("wait")
  expect(await lines()).toEqual([`charge -${PRICE}`, "give_back 2000", "give_back 1000"])
})

it("a refunded call is charged again with the same key", async () => {
  provider = () => Promise.reject(new ProviderUnavailable("away"))
  expect(await ask("trees", "freed")).toMatchObject({ status: 503 })
  provider = async () => "warmer"
  expect(await ask("trees", "freed")).toMatchObject({ status: 200 })
  await world.operate("wait")
  expect(await lines()).toEqual([`charge -${PRICE}`, `give_back ${PRICE}`, `charge -${PRICE}`])
})

it.each(["before", "after"] as const)(
  "a retry of a call whose process died right %s it charged is charged once",
  async (when) => {
    const idempotencyKey = newIdempotencyKey()
    const request = { key: company.key, url: HINTS, body: { about: "trees" }, idempotencyKey }
    await crashAtStep(world, { step: "Charge", when }, request, program)
    expect(await ask("trees", idempotencyKey)).toMatchObject({
      status: 200,
      body: { hint: "warmer" },
    })
    await world.operate("wait")
    expect([await lines(), calls]).toEqual([[`charge -${PRICE}`], ["north trees"]])
  },
)

it("a call is charged once if the charge of a dead process arrives after a rejection", async () => {
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
  expect([await lines(), calls]).toEqual([[`charge -${PRICE}`], ["north trees"]])
})

it("concurrent calls cannot exceed a limit", async () => {
  await setLimit(world, company, { dollars: "0.03" })
  const answers = await Promise.all(Array.from({ length: 25 }, (_, i) => ask("trees", `k${i}`)))
  expect(answers.filter(({ status }) => status === 200).length).toBe(10)
  await world.operate("wait")
  expect((await lines()).length).toBe(10)
})
