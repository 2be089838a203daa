/** What every payment processor must do behind the port. */
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

/** What the processor does next: what comes of a payment, or how the call itself goes wrong. */
export type CardBehavior = SimulatedCardOutcome | "misconfigured" | "unavailable" | "silent"

/** A processor under test, with somebody who plays its part. */
export interface CardsUnderTest {
  readonly cards: CardProcessor
  /** What becomes of the payments that are ordered from now on. */
  readonly setNext: (outcome: CardBehavior) => Promise<void>
  /** How many payments took money. */
  readonly paymentCount: () => Promise<number>
  /** How many sums are held on cards. */
  readonly holdCount: () => Promise<number>
  /** A company that has a card with it. */
  readonly companyId: CompanyId
  /** Why it refuses orders. */
  readonly refusals: readonly SimulatedCardOutcome[]
  readonly close: () => Promise<void>
}

/** When payments of the contract are begun, UTC milliseconds. */
export const PAYMENTS_STARTED_AT = Date.UTC(2026, 10, 21)

let named = 0

/** A payment that no other test orders. */
export function aPayment(companyId: CompanyId, parts: Partial<PaymentOrder> = {}): PaymentOrder {
  named += 1
  return {
    idempotencyKey: `pur_${named}`,
    companyId,
    amountMicros: 12_340_000,
    startedAt: PAYMENTS_STARTED_AT,
    customerId: `cus_${companyId}`,
    paymentId: null,
    sharedPaymentToken: null,
    ...parts,
  }
}

/** Holds a processor to the contract. */
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
    withdrawing(() => under)
    holding(() => under)
    notHolding(() => under)
  })
}

function paying(under: () => CardsUnderTest): void {
  it("takes a payment, and knows of it afterwards", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const answer = await cards.pay(payment)
    expect(answer).toEqual({ answer: "paid", paymentId: expect.stringMatching(/./) })
    expect(await cards.checkPaymentStatus(payment)).toEqual(answer)
    expect(await paymentCount()).toBe(before + 1)
  })

  it("takes a payment once, however often it is ordered", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const first = await cards.pay(payment)
    await setNext("declined")
    expect(await cards.pay(payment)).toEqual(first)
    expect(await paymentCount()).toBe(before + 1)
  })

  it("takes a payment once of twenty who order it at once", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const answers = await Promise.all(Array.from({ length: 20 }, () => cards.pay(payment)))
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(await paymentCount()).toBe(before + 1)
  })

  it("takes it from the buyer's own wallet", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("paid")
    const sharedPaymentToken = "spt_of_a_wallet"
    const answer = await cards.pay(aPayment(companyId, { sharedPaymentToken }))
    expect(answer.answer).toBe("paid")
  })

  it("says that a payment is under way, and later that it is paid", async () => {
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
  it("says why it refuses a payment, and which one it is, and says it again", async () => {
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

  it("does nothing while it is unavailable, and takes the payment afterwards", async () => {
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
  it("takes nothing while it is misconfigured, says so, and takes the payment afterwards", async () => {
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
  it("finds a payment by its own id", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("processing")
    const payment = aPayment(companyId)
    const { paymentId } = (await cards.pay(payment)) as { readonly paymentId: string }
    await setNext("paid")
    for (const ask of [cards.checkPaymentStatus, cards.pay]) {
      expect(await ask({ ...payment, paymentId })).toEqual({ answer: "paid", paymentId })
    }
  })

  it("says where it was silent that it has taken the payment", async () => {
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

  it("says that it was never told of a payment", async () => {
    const { cards, companyId } = under()
    expect(await cards.checkPaymentStatus(aPayment(companyId))).toEqual({ answer: "unknown" })
  })
}

function withdrawing(under: () => CardsUnderTest): void {
  it("never makes a payment that was withdrawn, however late it is ordered", async () => {
    const { cards, setNext, paymentCount, companyId } = under()
    await setNext("paid")
    const before = await paymentCount()
    const payment = aPayment(companyId)
    const withdrawn = await cards.cancelPayment(payment)
    expect(`${withdrawn.answer} ${withdrawn.paymentId}`).toMatch(/^payment_failed (?!null$)./)
    expect(await cards.cancelPayment(payment)).toEqual(withdrawn)
    expect(await cards.pay(payment)).toEqual(withdrawn)
    expect(await cards.checkPaymentStatus(payment)).toEqual(withdrawn)
    expect(await paymentCount()).toBe(before)
  })

  it("leaves a payment that was made", async () => {
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
  it("holds a sum once, however often it is asked to, takes nothing, and lets go of it", async () => {
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
    for (const known of [paymentId, paymentId, null]) {
      expect(await cards.release({ ...hold, paymentId: known })).toEqual({ answer: "released" })
    }
    expect(await cards.checkHoldStatus(hold)).toEqual({ answer: "released" })
    expect([await holdCount(), (await paymentCount()) - before]).toEqual([0, 0])
  })

  it("finds a hold by its name where it was silent, and lets go of it", async () => {
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

  it("says that a hold is under way", async () => {
    const { cards, setNext, companyId } = under()
    await setNext("processing")
    expect(await cards.hold(aPayment(companyId))).toEqual({ answer: "processing" })
    await setNext("paid")
  })
}

function notHolding(under: () => CardsUnderTest): void {
  it("says why it refuses a hold, and says it again", async () => {
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

  it("never makes a hold that was let go before, however late it is asked for", async () => {
    const { cards, setNext, holdCount, companyId } = under()
    await setNext("paid")
    const hold = aPayment(companyId)
    expect(await cards.release(hold)).toEqual({ answer: "payment_failed" })
    expect(await cards.release(hold)).toEqual({ answer: "payment_failed" })
    expect(await cards.hold(hold)).toEqual({ answer: "payment_failed" })
    expect(await holdCount()).toBe(0)
  })
}
