/** `GET /api/v1/credits`: the balance, and what this key may buy. */
import { accessOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../domain/access/access.ts"
import type { Allowance } from "../../domain/charging/ledger-views.ts"
import { dollarsFromMicros } from "../../domain/kernel/money.ts"
import { fundsOf } from "../../projections/charging/accounts.ts"
import { purchaseAllowance } from "../../projections/charging/purchases.ts"
import { route } from "../frame/routes/declare/route.ts"
import { exactDollars } from "../frame/kernel/schema.ts"

const Credits = z.object({
  balance: exactDollars.describe("The funds, dollars, exact to the millionth"),
  purchases: z.enum(["on", "off", "needs_owner_review"]).describe("Whether this key may buy funds"),
  perPurchaseLimit: exactDollars
    .nullable()
    .describe("The most that one purchase may be, dollars; null where purchases are off"),
  monthlyLimit: exactDollars
    .nullable()
    .describe("The most in a month, dollars; null where purchases are off"),
  boughtThisMonth: exactDollars.describe("What this key has bought this month, dollars"),
  pending: exactDollars.describe("What is being paid just now, dollars"),
  remainingThisMonth: exactDollars
    .nullable()
    .describe("What it may still buy this month, dollars; null where purchases are off"),
  cardOnFile: z.boolean().describe("Whether the company has a card"),
})

/** The route. */
export const readCredits = route({
  name: "readCredits",
  method: "GET",
  url: "/api/v1/credits",
  group: "credits",
  summary: "Read the balance and what this key may buy",
  operation: "account.balance.read",
  counted: true,
  passesLock: true,
  reply: Credits,
  reads: ["accounts", "purchases"],
  looks: [accessOf],
  specGap:
    "The specification does not show the limits of a key that may buy nothing: perPurchaseLimit, " +
    "monthlyLimit and remainingThisMonth are null where purchases are off.",
  handle: async (ports, caller) => {
    const { companyId, key } = caller
    const now = ports.clock.now()
    const [balance, allowance, standing] = await Promise.all([
      ports.readAs(companyId, (db) => fundsOf(db, companyId)),
      key === null
        ? null
        : ports.readAs(companyId, (db) => purchaseAllowance(db, companyId, key.keyId, now)),
      ports.runner.read(accessOf(companyId), companyStanding),
    ])
    return {
      ok: true,
      body: {
        balance: dollarsFromMicros(balance),
        ...shown(allowance),
        cardOnFile: standing?.card !== null && standing?.card !== undefined,
      },
    }
  },
})

/** What a key may buy, in dollars. A purchase takes its allowance when it begins, not when it is paid. */
function shown(allowance: Allowance | null) {
  if (allowance === null) {
    return {
      purchases: "off" as const,
      perPurchaseLimit: null,
      monthlyLimit: null,
      boughtThisMonth: 0,
      pending: 0,
      remainingThisMonth: null,
    }
  }
  const { mode, perPurchaseMicros, perMonthMicros, paidMicros, pendingMicros } = allowance
  const remaining = Math.max(0, perMonthMicros - paidMicros - pendingMicros)
  return {
    purchases: mode,
    perPurchaseLimit: dollarsFromMicros(perPurchaseMicros),
    monthlyLimit: dollarsFromMicros(perMonthMicros),
    boughtThisMonth: dollarsFromMicros(paidMicros),
    pending: dollarsFromMicros(pendingMicros),
    remainingThisMonth: dollarsFromMicros(remaining),
  }
}
