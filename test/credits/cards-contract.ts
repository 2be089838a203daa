/** The contract of the payment processor port. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type {
  SimulatedCardOutcome,
  CardProcessor,
  PaymentOrder,
} from "../../adapters/providers/cards/port.ts"
import {
  ProviderMisconfigured,
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** What the processor does next: the outcome of a payment, or the failure of the call. */
export type CardBehavior = SimulatedCardOutcome | "misconfigured" | "unavailable" | "silent"

/** A processor under test, and controls of its behavior. */
export interface CardsUnderTest {
  readonly cards: CardProcessor
  /** Sets the outcome of the following payments. */
  readonly setNext: (outcome: CardBehavior) => Promise<void>
  /** The number of paid payments. */
  readonly paymentCount: () => Promise<number>
  readonly holdCount: () => Promise<number>
  /** A company that has a card at the processor. */
  readonly companyId: CompanyId
  /** The outcomes with which it rejects orders. */
  readonly refusals: readonly SimulatedCardOutcome[]
  readonly close: () => Promise<void>
}

/** When the contract's payments start, UTC milliseconds. */
export const PAYMENTS_STARTED_AT = Date.UTC(2026, 10, 21)

let paymentsMade = 0

/** A payment order with a new idempotency key. */
export function aPayment(companyId: CompanyId, parts: Partial<PaymentOrder> = {}): PaymentOrder {
  paymentsMade += 1
  return {
    idempotencyKey: `pur_${paymentsMade}`,
    companyId,
    amountMicros: 12_340_000,
    startedAt: PAYMENTS_STARTED_AT,
    customerId: `cus_${companyId}`,
    paymentId: null,
    sharedPaymentToken: null,
    ...parts,
  }
}

/** Tests a processor against the contract. */
export function cardsContract(name: string, open: () => Promise<CardsUnderTest>): void {
  describe(name, () => {
    let under: CardsUnderTest
    beforeAll(async () => {
      under = await open()
    })
    afterAll(async () => {
      await under.close()
    })
    paying(() => under)
    notPaying(() => under)
    misconfigured(() => under)
    asking(() => under)
    canceling(() => under)
    holding(() => under)
    notHolding(() => under)
  })
}

function paying(under: () => CardsUnderTest): void {
  it("takes a payment, and finds it afterwards", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const answer = await cards.pay(payment)
    expect(answer).toEqual({ answer: "paid", paymentId: expect.stringMatching(/./) })
    expect(await cards.checkPaymentStatus(payment)).toEqual(answer)
    expect(await paymentCount()).toBe(before + 1)
  })

  it("takes a payment once, no matter how often it is ordered", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const first = await cards.pay(payment)
    await setNext("declined")
    expect(await cards.pay(payment)).toEqual(first)
    expect(await paymentCount()).toBe(before + 1)
  })

  it("takes a payment once if it is ordered twenty times concurrently", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const answers = await Promise.all(Array.from({ length: 20 }, () => cards.pay(payment)))
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(await paymentCount()).toBe(before + 1)
  })

  it("takes a payment from the buyer's wallet", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("paid")
    const sharedPaymentToken = "spt_of_a_wallet"
    const answer = await cards.pay(aPayment(companyId, { sharedPaymentToken }))
    expect(answer.answer).toBe("paid")
  })

  it("reports that a payment is processing, and later that it is paid", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("processing")
    const payment = aPayment(companyId)
    const answer = await cards.pay(payment)
    expect(answer).toEqual({ answer: "processing", paymentId: expect.stringMatching(/./) })
    await setNext("paid")
    expect(await cards.checkPaymentStatus(payment)).toEqual({ ...answer, answer: "paid" })
  })
}

function notPaying(under: () => CardsUnderTest): void {
  it("rejects a payment with a reason and its id, and repeats them", async () => {
    const { cards, setNext, paymentCount, companyId, refusals } = under()
    for (const outcome of refusals) {
      await setNext(outcome)
      const before = await paymentCount()
      const payment = aPayment(companyId)
      const answer = await cards.pay(payment)
      expect(answer).toEqual({ answer: outcome, paymentId: expect.stringMatching(/./) })
      await setNext("paid")
      expect(await cards.pay(payment)).toEqual(answer)
      expect(await cards.checkPaymentStatus(payment)).toEqual(answer)
      expect(await paymentCount()).toBe(before)
    }
  })

  it("takes nothing while it is unavailable, and takes the payment afterwards", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("unavailable")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    await expect(cards.pay(payment)).rejects.toThrow(ProviderUnavailable)
    expect(await paymentCount()).toBe(before)
    await setNext("paid")
    expect(await cards.checkPaymentStatus(payment)).toEqual({ answer: "unknown" })
    expect((await cards.pay(payment)).answer).toBe("paid")
  })
}

function misconfigured(under: () => CardsUnderTest): void {
  it("reports a misconfiguration and takes nothing, and takes the payment afterwards", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("misconfigured")
    const payment = aPayment(companyId)
    await expect(cards.pay(payment)).rejects.toThrow(ProviderMisconfigured)
    expect(cards.configurationError()).toBeInstanceOf(ProviderMisconfigured)
    await expect(cards.hold(payment)).rejects.toThrow(ProviderUnavailable)
    for (const ask of [cards.checkPaymentStatus, cards.checkHoldStatus]) {
      expect(await ask(payment)).toEqual({ answer: "unknown" })
    }
    await setNext("paid")
    expect((await cards.pay(payment)).answer).toBe("paid")
    expect(cards.configurationError()).toBeNull()
  })
}

function asking(under: () => CardsUnderTest): void {
  it("finds a payment by the processor's id", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("processing")
    const payment = aPayment(companyId)
    const { paymentId } = (await cards.pay(payment)) as { readonly paymentId: string }
    await setNext("paid")
    for (const ask of [cards.checkPaymentStatus, cards.pay]) {
      expect(await ask({ ...payment, paymentId })).toEqual({ answer: "paid", paymentId })
    }
  })

  it("finds a payment whose answer was lost", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("silent")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    await expect(cards.pay(payment)).rejects.toThrow(ProviderOutcomeUnknown)
    await setNext("paid")
    expect((await cards.checkPaymentStatus(payment)).answer).toBe("paid")
    expect((await cards.pay(payment)).answer).toBe("paid")
    expect(await paymentCount()).toBe(before + 1)
  })

  it("reports that a payment is unknown", async () => {
    const { cards, companyId } = under()
    expect(await cards.checkPaymentStatus(aPayment(companyId))).toEqual({ answer: "unknown" })
  })
}

function canceling(under: () => CardsUnderTest): void {
  it("never takes a canceled payment, no matter how late it is ordered", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const canceled = await cards.cancelPayment(payment)
    expect(`${canceled.answer} ${canceled.paymentId}`).toMatch(/^payment_failed (?!null$)./)
    expect(await cards.cancelPayment(payment)).toEqual(canceled)
    expect(await cards.pay(payment)).toEqual(canceled)
    expect(await cards.checkPaymentStatus(payment)).toEqual(canceled)
    expect(await paymentCount()).toBe(before)
  })

  it("does not cancel a paid payment", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const payment = aPayment(companyId)
    const answer = await cards.pay(payment)
    const before = await paymentCount()
    expect(await cards.cancelPayment(payment)).toEqual(answer)
    expect(await paymentCount()).toBe(before)
  })
}

function holding(under: () => CardsUnderTest): void {
  it("makes a hold once, takes nothing, and releases it", async () => {
    const { cards, setNext, paymentCount, holdCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const hold = aPayment(companyId)
    const answers = await Promise.all(Array.from({ length: 10 }, () => cards.hold(hold)))
    const [first] = answers
    expect(first).toEqual({ answer: "held", paymentId: expect.stringMatching(/./) })
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(await cards.checkHoldStatus(hold)).toEqual(first)
    expect(await holdCount()).toBe(1)
    const { paymentId } = first as { paymentId: string }
    for (const knownId of [paymentId, paymentId, null]) {
      expect(await cards.release({ ...hold, paymentId: knownId })).toEqual({ answer: "released" })
    }
    expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "released" })
    expect([await holdCount(), (await paymentCount()) - before]).toEqual([0, 0])
  })

  it("finds and releases a hold whose answer was lost", async () => {
    const { cards, setNext, holdCount, companyId } = under()
    await setNext("silent")
    const hold = aPayment(companyId)
    await expect(cards.hold(hold)).rejects.toThrow(ProviderOutcomeUnknown)
    expect((await cards.checkHoldStatus(hold)).answer).toBe("held")
    await expect(cards.release(hold)).rejects.toThrow(ProviderOutcomeUnknown)
    expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "released" })
    expect(await holdCount()).toBe(0)
    await setNext("paid")
  })

  it("reports that a hold is processing", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("processing")
    expect(await cards.hold(aPayment(companyId))).toEqual({ answer: "processing" })
    await setNext("paid")
  })
}

function notHolding(under: () => CardsUnderTest): void {
  it("rejects a hold with a reason, and repeats it", async () => {
    const { cards, setNext, holdCount, companyId, refusals } = under()
    for (const outcome of refusals) {
      await setNext(outcome)
      const hold = aPayment(companyId)
      expect(await cards.hold(hold)).toEqual({ answer: outcome })
      await setNext("paid")
      expect(await cards.hold(hold)).toEqual({ answer: outcome })
      expect(await cards.release(hold)).toEqual({ answer: outcome })
      expect(await holdCount()).toBe(0)
    }
  })

  it("holds nothing while it is unavailable", async () => {
    const { cards, setNext, holdCount, companyId } = under()
    await setNext("unavailable")
    const hold = aPayment(companyId)
    await expect(cards.hold(hold)).rejects.toThrow(ProviderUnavailable)
    await expect(cards.release(hold)).rejects.toThrow(ProviderUnavailable)
    await setNext("paid")
    expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "unknown" })
    expect(await holdCount()).toBe(0)
  })

  it("never makes a hold that was released before, no matter how late it is ordered", async () => {
    const { cards, setNext, holdCount, companyId } = under()
    await setNext("paid")
    const hold = aPayment(companyId)
    expect(await cards.release(hold)).toEqual({ answer: "payment_failed" })
    expect(await cards.release(hold)).toEqual({ answer: "payment_failed" })
    expect(await cards.hold(hold)).toEqual({ answer: "payment_failed" })
    expect(await holdCount()).toBe(0)
  })
}
