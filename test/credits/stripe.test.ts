import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest"
import type { PaymentOrder } from "../../adapters/providers/cards/port.ts"
import { openStripeCards } from "../../adapters/providers/cards/stripe.ts"
import {
  ProviderUnavailable,
  ProviderMisconfigured,
  ProviderOutcomeUnknown,
} from "../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CardsUnderTest } from "./cards-contract.ts"
import { PAYMENTS_STARTED_AT, aPayment, cardsContract } from "./cards-contract.ts"
import type { Intent, StripeServer } from "./stripe-server.ts"
import { startStripeServer } from "./stripe-server.ts"

const COMPANY = "co_aaaaaa"
const secretKey = "sk_test_of_a_stand_in"
const HOUR_MS = 3_600_000

/** The adapter, for a server and its clock. */
const opened = (server: StripeServer) =>
  openStripeCards({ secretKey, url: server.url, clock: { now: () => server.now() } })

async function open(): Promise<CardsUnderTest> {
  const server = await startStripeServer()
  server.customers.set(COMPANY, "pm_card")
  return {
    cards: opened(server),
    setNext: async (outcome) => {
      // What was under way comes to its end meanwhile.
      for (const intent of server.intents) {
        if (intent.status === "processing") intent.status = "succeeded"
      }
      server.nextBehavior = outcome
    },
    paymentCount: async () => server.intents.filter(({ status }) => status === "succeeded").length,
    holdCount: async () =>
      server.intents.filter(({ status }) => status === "requires_capture").length,
    companyId: COMPANY,
    refusals: ["declined", "needs_owner"],
    close: server.close,
  }
}

cardsContract("Stripe", open)

describe("Stripe", async () => {
  const server = await startStripeServer()
  afterAll(server.close)
  server.customers.set(COMPANY, "pm_card")
  const cards = opened(server)
  beforeEach(() => {
    Object.assign(server, {
      nextBehavior: "paid",
      orderError: null,
      now: () => PAYMENTS_STARTED_AT,
    })
  })
  /** The order as it was sent. */
  const ordered = () => {
    const found = server.requests.findLast(({ call }) => call === "POST /v1/payment_intents")
    if (found === undefined) throw new Error("nothing was ordered")
    return { headers: found.headers, form: Object.fromEntries(found.form) }
  }
  const orders = () =>
    server.requests.filter(({ call }) => call === "POST /v1/payment_intents").length
  /** Has the server know a payment of this name. */
  const known = (name: string, parts: Partial<Intent>) => {
    const id = `pi_known_${server.intents.length}`
    server.intents.push({
      id,
      object: "payment_intent",
      amount: 1,
      created: PAYMENTS_STARTED_AT / 1_000,
      customer: `cus_${COMPANY}`,
      metadata: { payment: name },
      status: "succeeded",
      last_payment_error: null,
      latest_charge: null,
      ...parts,
    })
    return id
  }

  it("is asked for whole cents from the company's own card, once by our name for it", async () => {
    const payment = aPayment(COMPANY, { amountMicros: 19_990_000 })
    expect((await cards.pay(payment)).answer).toBe("paid")
    const { headers, form } = ordered()
    expect(headers["idempotency-key"]).toBe(payment.idempotencyKey)
    expect(headers["authorization"]).toBe(`Bearer ${secretKey}`)
    expect(form).toEqual({
      amount: "1999",
      currency: "usd",
      confirm: "true",
      off_session: "true",
      customer: `cus_${COMPANY}`,
      payment_method: "pm_card",
      "metadata[payment]": payment.idempotencyKey,
      "metadata[company]": COMPANY,
      "automatic_payment_methods[enabled]": "true",
      "automatic_payment_methods[allow_redirects]": "never",
    })
  })

  it("is asked to hold a sum without taking it", async () => {
    const hold = aPayment(COMPANY, { amountMicros: 49_000_000 })
    expect((await cards.hold(hold)).answer).toBe("held")
    const { headers, form } = ordered()
    expect(headers["idempotency-key"]).toBe(hold.idempotencyKey)
    expect(form).toMatchObject({ amount: "4900", capture_method: "manual", confirm: "true" })
    expect(await cards.release(hold)).toEqual({ answer: "released" })
  })

  it.for([
    ["succeeded", null, "ch_1", { answer: "released" }],
    ["canceled", null, "ch_1", { answer: "released" }],
    ["canceled", null, null, { answer: "payment_failed" }],
    [
      "canceled",
      { type: "card_error", code: "card_declined" },
      "ch_1",
      { answer: "payment_failed" },
    ],
    ["requires_action", null, null, { answer: "needs_owner" }],
  ] as const)(
    "has a hold that is %s, %j, with the charge %s",
    async ([status, last_payment_error, latest_charge, answer]) => {
      const hold = aPayment(COMPANY)
      known(hold.idempotencyKey, { status, last_payment_error, latest_charge })
      expect(await cards.checkHoldStatus(hold)).toEqual(answer)
      expect(await cards.release(hold)).toEqual(answer)
    },
  )

  it.for(["requires_confirmation", "requires_payment_method"] as const)(
    "is told to drop a payment or hold that it never carried out: %s",
    async (status) => {
      const [payment, hold] = [aPayment(COMPANY), aPayment(COMPANY)]
      const paymentId = known(payment.idempotencyKey, { status })
      known(hold.idempotencyKey, { status })
      expect(await cards.checkPaymentStatus(payment)).toEqual({ answer: "unconfirmed", paymentId })
      expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "unconfirmed" })
      expect(await cards.cancelPayment(payment)).toEqual({
        answer: "payment_failed",
        paymentId,
        isCardUntried: true,
      })
      expect(await cards.release(hold)).toEqual({ answer: "payment_failed" })
      // It was never held, so nothing was let go of.
      expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "payment_failed" })
    },
  )

  it("is asked for the wallet of a token, of a company that is no customer of it", async () => {
    const sharedPaymentToken = "spt_of_a_wallet"
    const payment = aPayment("co_nobody", { sharedPaymentToken, customerId: null })
    await cards.pay(payment)
    const { headers, form } = ordered()
    expect(form).toMatchObject({
      "payment_method_data[shared_payment_granted_token]": "spt_of_a_wallet",
    })
    expect(form).not.toHaveProperty("customer")
    expect(String(headers["stripe-version"])).toContain("preview")
    expect((await cards.checkPaymentStatus(payment)).answer).toBe("paid")
  })

  it.for([
    ["is a customer that is gone", "co_stranger", "cus_co_stranger"],
    ["is a customer without a card", "co_cardless", "cus_co_cardless"],
  ] as const)("takes nothing where the company %s", async ([, companyId, customerId]) => {
    server.customers.set("co_cardless", null)
    const before = orders()
    const payment = aPayment(companyId, { customerId })
    expect(await cards.pay(payment)).toEqual({ answer: "no_card", paymentId: null })
    expect(await cards.hold(payment)).toEqual({ answer: "no_card" })
    expect(orders()).toBe(before)
  })

  it("is unavailable for a company whose customer is not recorded, whatever its card is", async () => {
    const before = orders()
    const payment = aPayment(COMPANY, { customerId: null })
    for (const order of [cards.pay(payment), cards.hold(payment)]) {
      await expect(order).rejects.toThrow(ProviderUnavailable)
    }
    expect(orders()).toBe(before)
    // One company's card is no fault of the account.
    expect(cards.configurationError()).toBeNull()
  })

  it("says whether a canceled payment was tried before", async () => {
    const [tried, untried] = [aPayment(COMPANY), aPayment(COMPANY)]
    const last_payment_error = { type: "card_error", code: "card_declined" }
    const parts = { status: "canceled", last_payment_error, latest_charge: "ch_1" }
    const paymentId = known(tried.idempotencyKey, parts)
    const untriedId = known(untried.idempotencyKey, { status: "canceled" })
    expect(await cards.checkPaymentStatus(tried)).toEqual({ answer: "payment_failed", paymentId })
    expect(await cards.checkPaymentStatus(untried)).toEqual({
      answer: "payment_failed",
      paymentId: untriedId,
      isCardUntried: true,
    })
  })

  it.for([
    ["processing", "processing"],
    ["succeeded", "paid"],
    ["requires_capture", "unconfirmed"],
    ["requires_action", "needs_owner"],
    ["requires_payment_method", "unconfirmed"],
  ] as const)("has a payment that is %s", async ([status, answer]) => {
    const payment = aPayment(COMPANY)
    const paymentId = known(payment.idempotencyKey, { status })
    expect(await cards.checkPaymentStatus(payment)).toEqual({ answer, paymentId })
    expect(await cards.checkPaymentStatus({ ...payment, paymentId })).toEqual({ answer, paymentId })
  })

  it.for([
    [{ type: "card_error", code: "card_declined" }, "declined"],
    [{ type: "card_error", code: "authentication_required" }, "needs_owner"],
    [{ type: "invalid_request_error", code: "payment_method_provider_decline" }, "declined"],
    [{ type: "invalid_request_error", code: "payment_method_unactivated" }, "unconfirmed"],
    [{ type: "api_error" }, "unconfirmed"],
  ] as const)("still knows why it refused: %j", async ([last_payment_error, answer]) => {
    const payment = aPayment(COMPANY)
    const paymentId = known(payment.idempotencyKey, {
      status: "requires_payment_method",
      last_payment_error,
    })
    expect(await cards.checkPaymentStatus(payment)).toEqual({ answer, paymentId })
  })

  it("is unavailable where nobody listens", async () => {
    const gone = await startStripeServer()
    await gone.close()
    const nobody = opened(gone)
    await expect(nobody.pay(aPayment(COMPANY))).rejects.toThrow(ProviderUnavailable)
    await expect(nobody.checkPaymentStatus(aPayment(COMPANY))).rejects.toThrow(ProviderUnavailable)
  })

  it("leaves open a payment that was ordered in other words and cannot be found", async () => {
    const payment = aPayment(COMPANY)
    await cards.pay(payment)
    server.intents.splice(0)
    const other = { ...payment, amountMicros: 20_000_000 }
    const unconfirmed = { answer: "unconfirmed", paymentId: null }
    expect(await cards.pay(other)).toEqual(unconfirmed)
    expect(await cards.cancelPayment(other)).toEqual(unconfirmed)
    expect(await cards.release(other)).toEqual({ answer: "unconfirmed" })
  })

  it("finds a payment behind two hundred newer ones", async () => {
    const payment = aPayment(COMPANY)
    const paymentId = known(payment.idempotencyKey, {})
    const started = PAYMENTS_STARTED_AT / 1_000 + 60
    for (let i = 0; i < 201; i += 1) known(`pur_other_${i}`, { created: started })
    const before = server.requests.length
    expect(await cards.checkPaymentStatus(payment)).toEqual({ answer: "paid", paymentId })
    const calls = server.requests.slice(before).map(({ call }) => call)
    const list = "GET /v1/payment_intents"
    expect(calls).toEqual([list, list, list, `${list}/${paymentId}`])
  })

  it("looks a name up before it orders it again once its key may be forgotten", async () => {
    const [payment, hold] = [aPayment(COMPANY), aPayment(COMPANY)]
    const paymentId = known(payment.idempotencyKey, {
      created: PAYMENTS_STARTED_AT / 1_000 + 20 * 3_600,
    })
    known(hold.idempotencyKey, {
      created: PAYMENTS_STARTED_AT / 1_000 + 20 * 3_600,
      status: "requires_capture",
    })
    server.now = () => PAYMENTS_STARTED_AT + 23 * HOUR_MS
    const before = orders()
    expect(await cards.pay(payment)).toEqual({ answer: "paid", paymentId })
    expect((await cards.hold(hold)).answer).toBe("held")
    expect(orders()).toBe(before)
    expect((await cards.pay(aPayment(COMPANY))).answer).toBe("paid")
    expect(orders()).toBe(before + 1)
  })
})

describe("payments whose answers were lost", () => {
  it("are what Stripe has of them, and its search is never asked", async () => {
    const server = await startStripeServer()
    onTestFinished(server.close)
    const cards = opened(server)
    const outcomes = ["paid", "declined", "needs_owner", "processing", "halted"] as const
    const companyIds = Array.from({ length: 10 }, (_none, i): CompanyId => `co_${i}`)
    for (const companyId of companyIds) server.customers.set(companyId, "pm_card")
    server.isDroppingResponses = true
    const sent: { readonly payment: PaymentOrder; readonly answer: string }[] = []
    // Each company orders at the same time: after a lost answer the vendor's library waits half a second.
    for (const [minute, outcome] of [...outcomes, ...outcomes].entries()) {
      server.now = () => PAYMENTS_STARTED_AT + minute * 60_000
      server.nextBehavior = outcome
      const lost = companyIds.map(async (companyId, i) => {
        const isWallet = (minute + i) % 7 === 0
        const payment = aPayment(companyId, {
          startedAt: server.now(),
          customerId: isWallet ? null : `cus_${companyId}`,
          sharedPaymentToken: isWallet ? "spt_of_a_wallet" : null,
        })
        // Of some not even the order arrives.
        if ((minute + i) % 11 === 0) sent.push({ payment, answer: "unknown" })
        else {
          await expect(cards.pay(payment)).rejects.toThrow(ProviderOutcomeUnknown)
          sent.push({ payment, answer: outcome === "halted" ? "unconfirmed" : outcome })
        }
      })
      await Promise.all(lost)
    }
    server.isDroppingResponses = false
    const asked = await Promise.all(
      sent.map(async ({ payment }) => cards.checkPaymentStatus(payment)),
    )
    expect(asked.map(({ answer }) => answer)).toEqual(sent.map(({ answer }) => answer))
    const calls = server.requests.map(({ call }) => call)
    expect(calls.filter((call) => call.includes("search"))).toEqual([])
  })
})

describe("an order that Stripe answers with an error", async () => {
  const server = await startStripeServer()
  afterAll(server.close)
  server.customers.set(COMPANY, "pm_card")
  const cards = opened(server)

  const invalid = { status: 400, type: "invalid_request_error" } as const
  const missing = { ...invalid, status: 404, code: "resource_missing" } as const
  const token = "payment_method_data[shared_payment_granted_token]"

  it.for([
    [{ status: 402, type: "card_error", code: "expired_card" }, "declined"],
    [{ status: 402, type: "card_error", code: "authentication_required" }, "needs_owner"],
    [{ ...missing, param: "customer" }, "no_card"],
    [{ ...missing, param: "payment_method" }, "no_card"],
    [{ ...missing, param: token }, "declined"],
    [{ ...invalid, param: "shared_payment_granted_token" }, "declined"],
  ] as const)("is refused by %j: %s", async ([error, answer]) => {
    server.orderError = error
    const sharedPaymentToken = "param" in error && error.param.includes("token") ? "spt_x" : null
    const payment = aPayment(COMPANY, { sharedPaymentToken })
    expect(await cards.pay(payment)).toEqual({ answer, paymentId: null })
    expect(cards.configurationError()).toBeNull()
  })

  it.for([
    { ...invalid, code: "parameter_missing" },
    { ...invalid, code: "amount_too_small", param: "amount" },
    { ...invalid, code: "payment_method_configuration_failures" },
    { ...missing, param: "on_behalf_of" },
    { ...invalid, status: 401 },
    { ...invalid, status: 403 },
  ] as const)("is a fault of the account or our key by %j", async (error) => {
    server.orderError = error
    await expect(cards.pay(aPayment(COMPANY))).rejects.toThrow(ProviderMisconfigured)
    await expect(cards.hold(aPayment(COMPANY))).rejects.toThrow(ProviderMisconfigured)
    expect(cards.configurationError()?.message).toBe("Stripe rejects the request: No")
  })

  it.for([408, 425, 500, 502, 503, 504])("has an unknown outcome after %d", async (status) => {
    server.orderError = { status, type: "api_error" }
    await expect(cards.pay(aPayment(COMPANY))).rejects.toThrow(ProviderOutcomeUnknown)
    await expect(cards.cancelPayment(aPayment(COMPANY))).rejects.toThrow(ProviderOutcomeUnknown)
  })

  it.for(["broken", 500, 503] as const)(
    "was not carried out where a read before it failed: %s",
    async (fault) => {
      onTestFinished(() => {
        server.readError = null
      })
      const orders = () => server.requests.filter(({ call }) => call.startsWith("POST")).length
      const before = orders()
      server.readError = fault === "broken" ? fault : { status: fault, type: "api_error" }
      const payment = aPayment(COMPANY)
      const known = { ...payment, paymentId: "pi_1" }
      for (const read of [
        cards.pay(payment),
        cards.checkPaymentStatus(payment),
        cards.checkPaymentStatus(known),
      ]) {
        await expect(read).rejects.toMatchObject({ name: "ProviderUnavailable" })
      }
      await expect(cards.hold(payment)).rejects.toMatchObject({ name: "ProviderUnavailable" })
      expect(orders()).toBe(before)
    },
  )

  it("was not carried out after 429, and arrived before after 409", async () => {
    server.orderError = { status: 429, type: "invalid_request_error", code: "lock_timeout" }
    const payment = aPayment(COMPANY)
    const undone = expect(cards.pay(payment)).rejects
    await undone.toThrow(ProviderUnavailable)
    server.orderError = { status: 409, type: "idempotency_error", code: "idempotency_key_in_use" }
    expect(await cards.pay(payment)).toEqual({ answer: "unconfirmed", paymentId: null })
  })
})
