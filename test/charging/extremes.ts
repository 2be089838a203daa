/** Scenes for special histories: so many names that the ledger forgets some, or very large amounts. */
import fc from "fast-check"
import { NO_DELAY, READY_TURN, firstProcessTurn } from "./scenes.ts"
import type { Intention, HistoryTurn } from "./history.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"

/** Funds near the maximum, with pending purchases that just fit or just do not. */
export const nearMaximumFunds: fc.Arbitrary<readonly HistoryTurn[]> = fc
  .record({
    lessMicros: fc.constantFrom(14_999_999, 15_000_000, 10_000_000, 9_990_000, 5_000_000),
    ends: fc.constantFrom("pay" as const, "decline" as const),
  })
  .map(({ lessMicros, ends }): readonly HistoryTurn[] => {
    const keyId = "key_a1"
    const [perPurchaseMicros, perMonthMicros] = [5_000_000, 1_000_000_000]
    const buy = (purchaseId: PurchaseId): Intention => {
      return { do: "buy", purchaseId, keyId, cents: { cents: 500 }, odd: 0 }
    }
    const terms = { mode: "on", perPurchaseMicros, perMonthMicros } as const
    return [
      firstProcessTurn({ ms: 1 }, { do: "reopen" }, { do: "purchase terms", keyId, ...terms }),
      firstProcessTurn({ until: "month", off: 0 }, { do: "top", lessMicros }),
      firstProcessTurn(NO_DELAY, buy("pur_7"), buy("pur_8")),
      firstProcessTurn({ ms: 1 }, { do: "correct", by: 0 }, buy("pur_9")),
      firstProcessTurn(NO_DELAY, { do: ends, purchaseId: "pur_7" }, buy("pur_10")),
    ]
  })

/** A name is used, and then so many others that the ledger may forget it. */
export const forgottenNames: fc.Arbitrary<readonly HistoryTurn[]> = fc
  .record({
    count: fc.constantFrom(253, 254, 255, 256, 257),
    lag: fc.constantFrom(0, 1, 2, 3, 255, 256, 257, 258, 259, 260, 400),
    part: fc.constantFrom("whole" as const, "some" as const),
  })
  .map(({ count, lag, part }): readonly HistoryTurn[] => {
    const once = { do: "charge once", name: "order_9", micros: 2, open: false } as const
    const back = { do: "operator refund", place: count + 1, part, behind: lag } as const
    return [
      READY_TURN,
      firstProcessTurn(NO_DELAY, { ...once, name: "order_8", behind: 0 }),
      firstProcessTurn(NO_DELAY, { ...once, behind: 0 }),
      firstProcessTurn(NO_DELAY, { ...back, place: 0, behind: 0 }),
      firstProcessTurn(NO_DELAY, { do: "charge many", count }),
      firstProcessTurn(NO_DELAY, { ...once, behind: lag }),
      firstProcessTurn(NO_DELAY, { ...once, name: "order_8", behind: lag + 1 }),
      firstProcessTurn(NO_DELAY, back),
      firstProcessTurn(NO_DELAY, { ...once, behind: 0 }),
    ]
  })
