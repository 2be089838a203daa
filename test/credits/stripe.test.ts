import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Cards } from "../../adapters/providers/cards/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { openStripeCards } from "../../adapters/providers/cards/stripe.ts"
import type { CardsUnderTest } from "./cards-contract.ts"
import { aPayment, cardsContract } from "./cards-contract.ts"
import type { StripeServer } from "./stripe-server.ts"
import { startStripeServer } from "./stripe-server.ts"

const COMPANY = "co_aaaaaa"
const secretKey = "sk_test_of_a_stand_in"

async function open(): Promise<CardsUnderTest> {
  const server = await startStripeServer()
  server.customers.set(COMPANY, "pm_card")
  return {
    cards: openStripeCards({ secretKey, url: server.url }),
    next: async (outcome) => {
      // What was under way comes to its end meanwhile.
      for (const intent of server.intents) {
        if (intent.status === "processing") intent.status = "succeeded"
      }
      server.next = outcome
    },
    paid: async () => server.intents.filter(({ status }) => status === "succeeded").length,
    held: async () => server.intents.filter(({ status }) => status === "requires_capture").length,
    companyId: COMPANY,
    close: server.close,
  }
}

cardsContract("Stripe", open)

describe("Stripe", () => {
  let server: StripeServer
  let cards: Cards
  beforeAll(async () => {
    server = await startStripeServer()
    server.customers.set(COMPANY, "pm_card")
    cards = openStripeCards({ secretKey, url: server.url })
  })
  afterAll(async () => {
    await server.close()
  })
  /** The order as it was sent. */
  const ordered = () => {
    const found = server.heard.findLast(({ call }) => call === "POST /v1/payment_intents")
    if (found === undefined) throw new Error("nothing was ordered")
    return { headers: found.headers, form: Object.fromEntries(found.form) }
  }

  it("is asked for whole cents from the company's own card, once by our name for it", async () => {
    const payment = aPayment(COMPANY, { amountMicros: 19_990_000 })
    expect((await cards.pay(payment)).answer).toBe("paid")
    const { headers, form } = ordered()
    expect(headers["idempotency-key"]).toBe(payment.name)
    expect(headers["authorization"]).toBe(`Bearer ${secretKey}`)
    expect(form).toEqual({
      amount: "1999",
      currency: "usd",
      confirm: "true",
      off_session: "true",
      customer: `cus_${COMPANY}`,
      payment_method: "pm_card",
      "metadata[payment]": payment.name,
      "metadata[company]": COMPANY,
      "automatic_payment_methods[enabled]": "true",
      "automatic_payment_methods[allow_redirects]": "never",
    })
  })

  it("is asked to hold a sum without taking it", async () => {
    const hold = aPayment(COMPANY, { amountMicros: 49_000_000 })
    expect((await cards.hold(hold)).answer).toBe("held")
    const { headers, form } = ordered()
    expect(headers["idempotency-key"]).toBe(hold.name)
    expect(form).toMatchObject({ amount: "4900", capture_method: "manual", confirm: "true" })
    expect(await cards.release(hold, null)).toEqual({ answer: "released" })
  })

  it("is told of no hold for a company without a card", async () => {
    expect(await cards.hold(aPayment("co_stranger"))).toEqual({ answer: "no_card" })
  })

  it.for([
    ["succeeded", null, { answer: "released" }],
    ["canceled", { type: "card_error", code: "card_declined" }, { answer: "payment_failed" }],
    ["requires_action", null, { answer: "needs_owner" }],
    ["requires_confirmation", null, { answer: "unconfirmed" }],
  ] as const)("has a hold that is %s", async ([status, last_payment_error, known]) => {
    const hold = aPayment(COMPANY)
    const metadata = { payment: hold.name }
    const object = "payment_intent" as const
    server.intents.push({ id: "pi_z", object, amount: 1, metadata, status, last_payment_error })
    expect(await cards.askHold(hold)).toEqual(known)
    expect(await cards.release(hold, null)).toEqual(known)
  })

  it("is asked for the wallet of a token, of a company that is no customer of it", async () => {
    const sharedPaymentToken = "spt_of_a_wallet"
    await cards.pay(aPayment("co_nobody", { sharedPaymentToken }))
    const { headers, form } = ordered()
    expect(form).toMatchObject({
      "payment_method_data[shared_payment_granted_token]": "spt_of_a_wallet",
    })
    expect(form).not.toHaveProperty("customer")
    expect(String(headers["stripe-version"])).toContain("preview")
  })

  it.for([
    ["is no customer", "co_stranger"],
    ["is a customer without a card", "co_cardless"],
  ] as const)("is asked for nothing where the company %s", async ([, companyId]) => {
    server.customers.set("co_cardless", null)
    const before = server.intents.length
    expect(await cards.pay(aPayment(companyId))).toEqual({ answer: "no_card" })
    expect(server.intents).toHaveLength(before)
  })

  it.for([
    ["processing", { answer: "processing", paymentId: "pi_x" }],
    ["succeeded", { answer: "paid", paymentId: "pi_x" }],
    ["requires_capture", { answer: "unconfirmed", paymentId: "pi_x" }],
    ["requires_action", { answer: "needs_owner" }],
    ["requires_payment_method", { answer: "payment_failed" }],
    ["canceled", { answer: "payment_failed" }],
  ] as const)("has a payment that is %s", async ([status, known]) => {
    const payment = aPayment(COMPANY)
    const metadata = { payment: payment.name }
    const object = "payment_intent" as const
    server.intents.push({
      id: "pi_x",
      object,
      amount: 1,
      metadata,
      status,
      last_payment_error: null,
    })
    expect(await cards.ask(payment)).toEqual(known)
  })

  it.for([
    ["card_declined", "declined"],
    ["authentication_required", "needs_owner"],
  ] as const)("still knows why it refused: %s", async ([code, answer]) => {
    const payment = aPayment(COMPANY)
    server.intents.push({
      id: "pi_y",
      object: "payment_intent",
      amount: 1,
      metadata: { payment: payment.name },
      status: "requires_payment_method",
      last_payment_error: { type: "card_error", code },
    })
    expect(await cards.ask(payment)).toEqual({ answer })
  })

  it("is unavailable where nobody listens", async () => {
    const gone = await startStripeServer()
    await gone.close()
    const nobody = openStripeCards({ secretKey, url: gone.url })
    await expect(nobody.pay(aPayment(COMPANY))).rejects.toThrow(ProviderUnavailable)
    await expect(nobody.ask(aPayment(COMPANY))).rejects.toThrow(ProviderUnavailable)
  })

  it("is silent of a payment that was ordered in other words and cannot be found", async () => {
    const payment = aPayment(COMPANY)
    await cards.pay(payment)
    server.intents.splice(0)
    const other = { ...payment, amountMicros: 20_000_000 }
    await expect(cards.pay(other)).rejects.toThrow(ProviderSilent)
    await expect(cards.withdraw(other)).rejects.toThrow(ProviderSilent)
  })
})
