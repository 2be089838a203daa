/** A history in which everything happens that a ledger can record. */
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import type { Step } from "./ledger-steps.ts"

const DAY = 86_400_000
const KEY = { keyId: "key_1", personId: "per_1" } as const
const BY_KEY = { via: "own_key", ...KEY } as const

const does = (command: LedgerCommand): Step => ({ does: "command", command })
const passes = (days: number): Step => ({ does: "pass", ms: days * DAY })

/** A charge of the histories that are written by hand. */
export function charging(
  given: Partial<Extract<LedgerCommand, { type: "Charge" }>> & { readonly chargeId: string },
): LedgerCommand {
  return {
    type: "Charge",
    ...BY_KEY,
    class: "general",
    item: "text_segment",
    quantity: 1,
    unitPriceMicros: 9_000,
    priceVersion: 1,
    amountMicros: 9_000,
    resource: null,
    requestedAt: 0,
    dueAt: null,
    servedFrom: null,
    isPending: false,
    exemption: null,
    searchedTo: null,
    ...given,
  }
}

const LIMIT = { holder: "key", holderId: "key_1", class: "all" } as const
const ALLOWED = { mode: "on", perPurchaseMicros: 20_000_000, perMonthMicros: 50_000_000 } as const

function buys(purchaseId: PurchaseId): Step {
  return does({ type: "StartPurchase", purchaseId, ...KEY, amountMicros: 5_000_000 })
}

/** The history. Its first two steps are those of an opened ledger with funds. */
export const EVERYTHING: readonly Step[] = [
  does({ type: "OpenLedger", prepaidOnly: false, creditLineMicros: 0 }),
  does({ type: "AddFunds", amountMicros: 10_000_000, reference: "first" }),
  does({ type: "ChangeTerms", prepaidOnly: false, creditLineMicros: 1_000 }),
  does({ type: "CorrectFunds", amountMicros: -1_000_000, reason: "counted twice" }),
  does({ type: "SetFundsNotice", belowMicros: 9_000_000 }),
  does({
    type: "SetLimit",
    ...LIMIT,
    period: "week",
    amountMicros: 5_000_000,
    remindersMicros: [9_000, 4_000_000],
    leaveKeysOut: false,
  }),
  does(charging({ chargeId: "chg_closed", isPending: true })),
  does(charging({ chargeId: "chg_back", isPending: true })),
  does(charging({ chargeId: "chg_open", isPending: true })),
  does({ type: "CloseCharges", chargeIds: ["chg_closed"] }),
  does({ type: "GiveBack", chargeId: "chg_back", amountMicros: null, reason: "it failed" }),
  { does: "correct", place: 0, part: true },
  does({ type: "SetPurchaseTerms", keyId: "key_1", ...ALLOWED }),
  buys("pur_paid"),
  { does: "settle", place: 0, paid: true },
  buys("pur_failed"),
  { does: "settle", place: 0, paid: false },
  buys("pur_pending"),
  does({ type: "OrderPurchase", purchaseId: "pur_pending", paymentId: "pay pur_pending" }),
  {
    does: "calls",
    daysAgo: 0,
    command: {
      type: "RecordCalls",
      day: 0,
      unitPriceMicros: 100,
      priceVersion: 1,
      counters: [
        { ...BY_KEY, calls: 3 },
        { via: "app_key", keyId: "key_2", personId: null, calls: 2 },
      ],
    },
  },
  passes(1),
  does({ type: "ChargeCalls", most: 1 }),
  does({ type: "LockAccount" }),
  does({ type: "UnlockAccount" }),
  does({ type: "RemoveLimit", ...LIMIT }),
  does({
    type: "SetLimit",
    holder: "company",
    holderId: null,
    class: "general",
    period: "month",
    amountMicros: 7_000_000,
    remindersMicros: [],
    leaveKeysOut: false,
  }),
  does({ type: "CloseLedger" }),
  does({ type: "ReopenLedger" }),
  passes(40),
  does({ type: "CloseMonth" }),
]

/** What ends it for good: nothing is decided after it. */
export const THE_END: readonly Step[] = [
  does({ type: "CloseLedger" }),
  passes(14),
  does({ type: "BeginErasure" }),
]

/** Every type of fact that a ledger has. One that is missing here does not compile. */
export const FACT_TYPES = Object.keys({
  LedgerOpened: true,
  TermsChanged: true,
  FundsAdded: true,
  FundsCorrected: true,
  LowFundsAlertSet: true,
  LowFundsReached: true,
  LimitSet: true,
  LimitRemoved: true,
  ReminderReached: true,
  Charged: true,
  ChargesSettled: true,
  ChargeReduced: true,
  ApiCallsCounted: true,
  PurchaseTermsSet: true,
  PurchaseStarted: true,
  PurchaseOrdered: true,
  PurchasePaid: true,
  PurchaseFailed: true,
  AccountLocked: true,
  AccountUnlocked: true,
  MonthClosed: true,
  LedgerClosed: true,
  LedgerReopened: true,
  ErasureStarted: true,
} satisfies Record<LedgerEvent["type"], true>).toSorted()
