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
const secretKey = "sk_test_of_a_simulator"
const HOUR_MS = 3_600_000

const openFor = (server: StripeServer) =>
  openStripeCards({ secretKey, url: server.url, clock: { now: () => server.now() } })

async function open(): Promise<CardsUnderTest> {
  const server = await startStripeServer()
  server.customers.set(COMPANY, "pm_card")
  return {
    cards: openFor(server),
    setNext: async (outcome) => {
      // Payments that are processing end meanwhile.
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
  const cards = openFor(server)
  beforeEach(() => {
    Object.assign(server, {
      nextBehavior: "paid",
      orderError: null,
      now: () => PAYMENTS_STARTED_AT,
    })
  })
  /** The last order that was sent. */
  const lastOrder = () => {
    const found = server.requests.findLast(({ call }) => call === "POST /v1/payment_intents")
    if (found === undefined) throw new Error("nothing was ordered")
    return { headers: found.headers, form: Object.fromEntries(found.form) }
  }
  const orders = () =>
    server.requests.filter(({ call }) => call === "POST /v1/payment_intents").length
  /** Adds a payment with this idempotency key to the server, and returns its id. */
  const addIntent = (name: string, parts: Partial<Intent>) => {
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

  it("gets an order for whole cents from the company's card, with our id of the payment", async () => {
    const payment = aPayment(COMPANY, { amountMicros: 19_990_000 })
    expect((await cards.pay(payment)).answer).toBe("paid")
    const { headers, form } = lastOrder()
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

  it("gets an order to hold an amount without capturing it", async () => {
    const hold = aPayment(COMPANY, { amountMicros: 49_000_000 })
    expect((await cards.hold(hold)).answer).toBe("held")
    const { headers, form } = lastOrder()
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
    "has a hold with status %s, error %j and charge %s",
    async ([status, last_payment_error, latest_charge, answer]) => {
      const hold = aPayment(COMPANY)
      addIntent(hold.idempotencyKey, { status, last_payment_error, latest_charge })
      expect(await cards.checkHoldStatus(hold)).toEqual(answer)
      expect(await cards.release(hold)).toEqual(answer)
    },
  )

  it.for(["requires_confirmation", "requires_payment_method"] as const)(
    "cancels a payment or hold that it never executed: %s",
    async (status) => {
      const [payment, hold] = [aPayment(COMPANY), aPayment(COMPANY)]
      const paymentId = addIntent(payment.idempotencyKey, { status })
      addIntent(hold.idempotencyKey, { status })
      expect(await cards.checkPaymentStatus(payment)).toEqual({ answer: "unconfirmed", paymentId })
      expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "unconfirmed" })
      expect(await cards.cancelPayment(payment)).toEqual({
        answer: "payment_failed",
        paymentId,
        isCardUntried: true,
      })
      expect(await cards.release(hold)).toEqual({ answer: "payment_failed" })
      // It was never held, so it is not released.
      expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "payment_failed" })
    },
  )

  it("charges the wallet of a shared payment token, without a customer", async () => {
    const sharedPaymentToken = "spt_of_a_wallet"
    const payment = aPayment("co_unknown", { sharedPaymentToken, customerId: null })
    await cards.pay(payment)
    const { headers, form } = lastOrder()
    expect(form).toMatchObject({
      "payment_method_data[shared_payment_granted_token]": "spt_of_a_wallet",
    })
    expect(form).not.toHaveProperty("customer")
    expect(String(headers["stripe-version"])).toContain("preview")
    expect((await cards.checkPaymentStatus(payment)).answer).toBe("paid")
  })

  it.for([
    ["is a deleted customer", "co_deleted", "cus_co_deleted"],
    ["is a customer without a card", "co_cardless", "cus_co_cardless"],
  ] as const)("takes nothing if the company %s", async ([, companyId, customerId]) => {
    server.customers.set("co_cardless", null)
    const before = orders()
    const payment = aPayment(companyId, { customerId })
    expect(await cards.pay(payment)).toEqual({ answer: "no_card", paymentId: null })
    expect(await cards.hold(payment)).toEqual({ answer: "no_card" })
    expect(orders()).toBe(before)
  })

  it("is unavailable for a company without a recorded customer, even with a card", async () => {
    const before = orders()
    const payment = aPayment(COMPANY, { customerId: null })
    for (const order of [cards.pay(payment), cards.hold(payment)]) {
      await expect(order).rejects.toThrow(ProviderUnavailable)
    }
    expect(orders()).toBe(before)
    // One company's card is not a misconfiguration of the account.
    expect(cards.configurationError()).toBeNull()
  })

  it("reports whether the card of a canceled payment was tried", async () => {
    const [tried, untried] = [aPayment(COMPANY), aPayment(COMPANY)]
    const last_payment_error = { type: "card_error", code: "card_declined" }
    const parts = { status: "canceled", last_payment_error, latest_charge: "ch_1" }
    const paymentId = addIntent(tried.idempotencyKey, parts)
    const untriedId = addIntent(untried.idempotencyKey, { status: "canceled" })
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
  ] as const)("reports a payment with status %s", async ([status, answer]) => {
    const payment = aPayment(COMPANY)
    const paymentId = addIntent(payment.idempotencyKey, { status })
    expect(await cards.checkPaymentStatus(payment)).toEqual({ answer, paymentId })
    expect(await cards.checkPaymentStatus({ ...payment, paymentId })).toEqual({ answer, paymentId })
  })

  it.for([
    [{ type: "card_error", code: "card_declined" }, "declined"],
    [{ type: "card_error", code: "authentication_required" }, "needs_owner"],
    [{ type: "invalid_request_error", code: "payment_method_provider_decline" }, "declined"],
    [{ type: "invalid_request_error", code: "payment_method_unactivated" }, "unconfirmed"],
    [{ type: "api_error" }, "unconfirmed"],
  ] as const)(
    "reports later why it rejected a payment: %j",
    async ([last_payment_error, answer]) => {
      const payment = aPayment(COMPANY)
      const paymentId = addIntent(payment.idempotencyKey, {
        status: "requires_payment_method",
        last_payment_error,
      })
      expect(await cards.checkPaymentStatus(payment)).toEqual({ answer, paymentId })
    },
  )

  it("is unavailable if nothing listens", async () => {
    const closed = await startStripeServer()
    await closed.close()
    const unreachable = openFor(closed)
    await expect(unreachable.pay(aPayment(COMPANY))).rejects.toThrow(ProviderUnavailable)
    await expect(unreachable.checkPaymentStatus(aPayment(COMPANY))).rejects.toThrow(
      ProviderUnavailable,
    )
  })

  it("reports an unconfirmed payment if it was ordered with other parameters and cannot be found", async () => {
    const payment = aPayment(COMPANY)
    await cards.pay(payment)
    server.intents.splice(0)
    const other = { ...payment, amountMicros: 20_000_000 }
    const unconfirmed = { answer: "unconfirmed", paymentId: null }
    expect(await cards.pay(other)).toEqual(unconfirmed)
    expect(await cards.cancelPayment(other)).toEqual(unconfirmed)
    expect(await cards.release(other)).toEqual({ answer: "unconfirmed" })
  })

  it("finds a payment older than two hundred others", async () => {
    const payment = aPayment(COMPANY)
    const paymentId = addIntent(payment.idempotencyKey, {})
    const started = PAYMENTS_STARTED_AT / 1_000 + 60
    for (let i = 0; i < 201; i += 1) addIntent(`pur_other_${i}`, { created: started })
    const before = server.requests.length
    expect(await cards.checkPaymentStatus(payment)).toEqual({ answer: "paid", paymentId })
    const calls = server.requests.slice(before).map(({ call }) => call)
    const list = "GET /v1/payment_intents"
    expect(calls).toEqual([list, list, list, `${list}/${paymentId}`])
  })

  it("looks up a payment before ordering it again once its idempotency key may have expired", async () => {
    const [payment, hold] = [aPayment(COMPANY), aPayment(COMPANY)]
    const paymentId = addIntent(payment.idempotencyKey, {
      created: PAYMENTS_STARTED_AT / 1_000 + 20 * 3_600,
    })
    addIntent(hold.idempotencyKey, {
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

describe("payments with lost answers", () => {
  it("are found by Stripe's lists, without its search", async () => {
    const server = await startStripeServer()
    onTestFinished(server.close)
    const cards = openFor(server)
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
        // Some orders do not even arrive.
        if ((minute + i) % 11 === 0) sent.push({ payment, answer: "unknown" })
        else {
          await expect(cards.pay(payment)).rejects.toThrow(ProviderOutcomeUnknown)
          sent.push({ payment, answer: outcome === "halted" ? "unconfirmed" : outcome })
        }
      })
      await Promise.all(lost)
    }
    server.isDroppingResponses = false
    const statuses = await Promise.all(
      sent.map(async ({ payment }) => cards.checkPaymentStatus(payment)),
    )
    expect(statuses.map(({ answer }) => answer)).toEqual(sent.map(({ answer }) => answer))
    const calls = server.requests.map(({ call }) => call)
    expect(calls.filter((call) => call.includes("search"))).toEqual([])
  })
})

describe("an order that Stripe answers with an error", async () => {
  const server = await startStripeServer()
  afterAll(server.close)
  server.customers.set(COMPANY, "pm_card")
  const cards = openFor(server)

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
  ] as const)("with %j is rejected as %s", async ([error, answer]) => {
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
  ] as const)("with %j is a misconfiguration of the account or our key", async (error) => {
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
    "is not sent if a read before it fails: %s",
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

  it("is not executed after 429, and was received before after 409", async () => {
    server.orderError = { status: 429, type: "invalid_request_error", code: "lock_timeout" }
    const payment = aPayment(COMPANY)
    const rejection = expect(cards.pay(payment)).rejects
    await rejection.toThrow(ProviderUnavailable)
    server.orderError = { status: 409, type: "idempotency_error", code: "idempotency_key_in_use" }
    expect(await cards.pay(payment)).toEqual({ answer: "unconfirmed", paymentId: null })
  })
})
