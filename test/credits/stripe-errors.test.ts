import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import type { OrderedPayment } from "../../adapters/providers/cards/port.ts"
import {
  ProviderMisconfigured,
  ProviderSilent,
  ProviderUnavailable,
} from "../../adapters/providers/outside.ts"
import { openStripeCards } from "../../adapters/providers/cards/stripe.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { BEGUN_AT, aPayment } from "./cards-contract.ts"
import type { StripeServer } from "./stripe-server.ts"
import { startStripeServer } from "./stripe-server.ts"

const COMPANY = "co_aaaaaa"
const secretKey = "sk_test_of_a_stand_in"
/** The adapter, for a server and its clock. */
const opened = (server: StripeServer) =>
  openStripeCards({ secretKey, url: server.url, clock: { now: () => server.now() } })

describe("payments whose answers were lost", () => {
  it("are what Stripe has of them, and its search is never asked", async () => {
    const server = await startStripeServer()
    onTestFinished(server.close)
    const cards = opened(server)
    const outcomes = ["paid", "declined", "needs_owner", "processing", "halted"] as const
    const companyIds = Array.from({ length: 10 }, (_none, i): CompanyId => `co_${i}`)
    for (const companyId of companyIds) server.customers.set(companyId, "pm_card")
    server.losesAnswers = true
    const sent: { readonly payment: OrderedPayment; readonly answer: string }[] = []
    // Each company orders at the same time: after a lost answer the vendor's library waits half a second.
    for (const [minute, outcome] of [...outcomes, ...outcomes].entries()) {
      server.now = () => BEGUN_AT + minute * 60_000
      server.next = outcome
      const lost = companyIds.map(async (companyId, i) => {
        const isWallet = (minute + i) % 7 === 0
        const payment = aPayment(companyId, {
          begunAt: server.now(),
          customerId: isWallet ? null : `cus_${companyId}`,
          sharedPaymentToken: isWallet ? "spt_of_a_wallet" : null,
        })
        // Of some not even the order arrives.
        if ((minute + i) % 11 === 0) sent.push({ payment, answer: "unknown" })
        else {
          await expect(cards.pay(payment)).rejects.toThrow(ProviderSilent)
          sent.push({ payment, answer: outcome === "halted" ? "unconfirmed" : outcome })
        }
      })
      await Promise.all(lost)
    }
    server.losesAnswers = false
    const asked = await Promise.all(sent.map(async ({ payment }) => cards.ask(payment)))
    expect(asked.map(({ answer }) => answer)).toEqual(sent.map(({ answer }) => answer))
    const calls = server.heard.map(({ call }) => call)
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
    expect(cards.misconfigured()).toBeNull()
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
    expect(cards.misconfigured()?.message).toBe("Stripe rejects the request: No")
  })

  it.for([408, 425, 500, 502, 503, 504])("has an unknown outcome after %d", async (status) => {
    server.orderError = { status, type: "api_error" }
    await expect(cards.pay(aPayment(COMPANY))).rejects.toThrow(ProviderSilent)
    await expect(cards.withdraw(aPayment(COMPANY))).rejects.toThrow(ProviderSilent)
  })

  it.for(["broken", 500, 503] as const)(
    "was not carried out where a read before it failed: %s",
    async (fault) => {
      onTestFinished(() => {
        server.readError = null
      })
      const orders = () => server.heard.filter(({ call }) => call.startsWith("POST")).length
      const before = orders()
      server.readError = fault === "broken" ? fault : { status: fault, type: "api_error" }
      const payment = aPayment(COMPANY)
      const known = { ...payment, paymentId: "pi_1" }
      for (const read of [cards.pay(payment), cards.ask(payment), cards.ask(known)]) {
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
