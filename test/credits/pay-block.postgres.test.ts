/** The `pay` block of a 402, executed exactly as it is. */
import { expect, it } from "vitest"
import { MESSAGES_PATH, newPhoneNumber, postText } from "../phone/text-requests.ts"
import { newIdempotencyKey } from "../api/interrupted-requests.ts"
import type { ApiAnswer } from "../support/world.ts"
import { makeCallsFree, ownWorld } from "../support/world.ts"
import { expectSoundAudit, makeBuyer, paymentCountOf } from "./buy-funds.ts"

const world = await ownWorld("prices")
await makeCallsFree(world)

/** Sends the request that a 402 describes, with more body fields. */
function executePay(key: string, refused: ApiAnswer, more: object = {}): Promise<ApiAnswer> {
  const { method, url, headers, body } = refused.body.pay
  expect(url).toBe(`${world.ports.baseUrl()}/api/v1/credits`)
  return world.call(key, method, new URL(url).pathname, { headers, body: { ...body, ...more } })
}

it("is executed as it is, and the original request then succeeds", async () => {
  const company = await makeBuyer(world, "0.004")
  const { key } = company
  const headers = { "idempotency-key": newIdempotencyKey() }
  const text = { to: newPhoneNumber() }
  const refused = await postText(world, key, text, headers)
  expect(refused.status).toBe(402)
  const bought = await executePay(key, refused)
  expect([bought.status, bought.body.status, bought.body.amount]).toEqual([200, "paid", 5])
  const again = await executePay(key, refused)
  expect(again.body).toEqual(bought.body)
  const sent = await postText(world, key, text, headers)
  expect([sent.status, sent.headers["idempotency-replayed"]]).toEqual([200, undefined])
  await world.operate("wait")
  const { messages } = (await world.call(key, "GET", MESSAGES_PATH)).body
  expect(messages).toHaveLength(1)
  expect(await paymentCountOf(world, company)).toBe(1)
  await expectSoundAudit(world, company)
})

it("names a sufficient amount, even a large one", async () => {
  const company = await makeBuyer(world, "0", { perPurchase: "5000", perMonth: "5000" })
  await world.operate("price set", { item: "text_segment", dollars: "123.450001" })
  try {
    const text = { to: newPhoneNumber() }
    const refused = await postText(world, company.key, text)
    expect(refused.body.pay.body).toEqual({ amount: 124 })
    expect((await executePay(company.key, refused)).status).toBe(200)
    expect((await postText(world, company.key, text)).status).toBe(200)
  } finally {
    await world.operate("price set", { item: "text_segment", dollars: "0.009" })
  }
})

it("is paid from the buyer's wallet if the company has no card", async () => {
  const company = await makeBuyer(world)
  const text = { to: newPhoneNumber() }
  const refused = await postText(world, company.key, text)
  await world.operate("card remove", { company: company.companyId })
  const without = await executePay(company.key, refused)
  expect([without.status, without.body.error]).toEqual([402, "no_card"])
  const [alternative] = refused.body.pay.alternatives
  const bought = await executePay(company.key, refused, { [alternative]: "spt_of_a_wallet" })
  expect(bought.status).toBe(200)
  await world.operate("card set", { company: company.companyId, verified: true })
  expect((await postText(world, company.key, text)).status).toBe(200)
})

it("succeeds once an owner has turned on Add funds, as its instructions say", async () => {
  const company = await makeBuyer(world)
  const { key, keyId } = company
  await world.operate("key change", { keyId, purchases: "off" })
  const text = { to: newPhoneNumber() }
  const refused = await postText(world, key, text)
  expect(refused.body.pay.instructions).toContain("An owner must turn on Add funds")
  expect((await executePay(key, refused)).body.error).toBe("purchase_not_allowed")
  await world.operate("key change", { keyId, purchases: "on" })
  expect((await executePay(key, refused)).status).toBe(200)
  expect((await postText(world, key, text)).status).toBe(200)
})
