/** `GET /api/v1/credits`: the balance, and what this key may buy. */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import type { PurchaseAllowance } from "../../domain/charging/ledger-views.ts"
import { dollarsFromMicros } from "../../domain/kernel/money.ts"
import { fundsBalanceOf } from "../../projections/charging/accounts.ts"
import { findPurchaseAllowance } from "../../projections/charging/purchases.ts"
import { route } from "../frame/routes/declare/route.ts"
import { dollarsSchema } from "../frame/kernel/schema.ts"

const Credits = z.object({
  balance: dollarsSchema.describe("The funds, dollars, exact to the millionth"),
  purchases: z.enum(["on", "off", "needs_owner_review"]).describe("Whether this key may buy funds"),
  perPurchaseLimit: dollarsSchema
    .nullable()
    .describe("The most that one purchase may be, dollars; null where purchases are off"),
  monthlyLimit: dollarsSchema
    .nullable()
    .describe("The most in a month, dollars; null where purchases are off"),
  boughtThisMonth: dollarsSchema.describe("What this key has bought this month, dollars"),
  pending: dollarsSchema.describe("What is being paid just now, dollars"),
  remainingThisMonth: dollarsSchema
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
  isCounted: true,
  isAllowedWhenLocked: true,
  reply: Credits,
  readModels: ["accounts", "purchases"],
  readStreams: [accessStreamOf],
  specGap:
    "The specification does not show the limits of a key that may buy nothing: perPurchaseLimit, " +
    "monthlyLimit and remainingThisMonth are null where purchases are off.",
  handle: async (ports, caller) => {
    const { companyId, key } = caller
    const now = ports.clock.now()
    const [balance, allowance, standing] = await Promise.all([
      ports.readAs(companyId, (db) => fundsBalanceOf(db, companyId)),
      key === null
        ? null
        : ports.readAs(companyId, (db) => findPurchaseAllowance(db, companyId, key.keyId, now)),
      ports.runner.read(accessStreamOf(companyId), companyProfileOf),
    ])
    return {
      ok: true,
      body: {
        balance: dollarsFromMicros(balance),
        ...allowanceFields(allowance),
        cardOnFile: standing?.card !== null && standing?.card !== undefined,
      },
    }
  },
})

/** What a key may buy, in dollars. A purchase takes its allowance when it begins, not when it is paid. */
function allowanceFields(allowance: PurchaseAllowance | null) {
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
