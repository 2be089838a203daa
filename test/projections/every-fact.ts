/** A history with every fact that a ledger can record. */
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import type { LedgerStep } from "./ledger-steps.ts"

const DAY = 86_400_000
const KEY = { keyId: "key_1", personId: "per_1" } as const
const BY_KEY = { via: "own_key", ...KEY } as const

const commandStep = (command: LedgerCommand): LedgerStep => ({ does: "command", command })
const passStep = (days: number): LedgerStep => ({ does: "pass", ms: days * DAY })

/** A charge for handwritten histories. */
export function chargeCommandFor(
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
    searchedUpTo: null,
    ...given,
  }
}

const LIMIT = { holder: "key", holderId: "key_1", class: "all" } as const
const ALLOWED = { mode: "on", perPurchaseMicros: 20_000_000, perMonthMicros: 50_000_000 } as const

function purchaseStep(purchaseId: PurchaseId): LedgerStep {
  return commandStep({ type: "StartPurchase", purchaseId, ...KEY, amountMicros: 5_000_000 })
}

/** The history. Its first two steps open the ledger and add funds. */
export const EVERY_FACT_STEPS: readonly LedgerStep[] = [
  commandStep({ type: "OpenLedger", prepaidOnly: false, creditLineMicros: 0 }),
  commandStep({ type: "AddFunds", amountMicros: 10_000_000, reference: "first" }),
  commandStep({ type: "ChangeCreditTerms", prepaidOnly: false, creditLineMicros: 1_000 }),
  commandStep({ type: "CorrectFunds", amountMicros: -1_000_000, reason: "counted twice" }),
  commandStep({ type: "SetLowFundsAlert", belowMicros: 9_000_000 }),
  commandStep({
    type: "SetLimit",
    ...LIMIT,
    period: "week",
    amountMicros: 5_000_000,
    remindersMicros: [9_000, 4_000_000],
    leaveKeysOut: false,
  }),
  commandStep(chargeCommandFor({ chargeId: "chg_closed", isPending: true })),
  commandStep(chargeCommandFor({ chargeId: "chg_back", isPending: true })),
  commandStep(chargeCommandFor({ chargeId: "chg_open", isPending: true })),
  commandStep({ type: "SettleCharges", chargeIds: ["chg_closed"] }),
  commandStep({
    type: "RefundPendingCharge",
    chargeId: "chg_back",
    amountMicros: null,
    reason: "it failed",
  }),
  { does: "correct", index: 0, part: true },
  commandStep({ type: "SetPurchaseTerms", keyId: "key_1", ...ALLOWED }),
  purchaseStep("pur_paid"),
  { does: "settle", index: 0, paid: true },
  purchaseStep("pur_failed"),
  { does: "settle", index: 0, paid: false },
  purchaseStep("pur_pending"),
  commandStep({ type: "OrderPurchase", purchaseId: "pur_pending", paymentId: "pay pur_pending" }),
  {
    does: "calls",
    daysAgo: 0,
    command: {
      type: "RecordApiCalls",
      day: 0,
      unitPriceMicros: 100,
      priceVersion: 1,
      counters: [
        { ...BY_KEY, calls: 3 },
        { via: "app_key", keyId: "key_2", personId: null, calls: 2 },
      ],
    },
  },
  passStep(1),
  commandStep({ type: "ChargeApiCalls", maxCharges: 1 }),
  commandStep({ type: "LockAccount" }),
  commandStep({ type: "UnlockAccount" }),
  commandStep({ type: "RemoveLimit", ...LIMIT }),
  commandStep({
    type: "SetLimit",
    holder: "company",
    holderId: null,
    class: "general",
    period: "month",
    amountMicros: 7_000_000,
    remindersMicros: [],
    leaveKeysOut: false,
  }),
  commandStep({ type: "CloseLedger" }),
  commandStep({ type: "ReopenLedger" }),
  passStep(40),
  commandStep({ type: "CloseMonth" }),
]

/** The end of the history: after these steps the ledger accepts no command. */
export const CLOSING_STEPS: readonly LedgerStep[] = [
  commandStep({ type: "CloseLedger" }),
  passStep(14),
  commandStep({ type: "StartErasure" }),
]

/** Every type of ledger fact. A missing type is a compile error. */
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
