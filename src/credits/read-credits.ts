/** `GET /api/v1/credits`: the balance, and what this key can buy. */
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
  balance: dollarsSchema.describe("Funds in US dollars, exact to the micro-dollar"),
  purchases: z.enum(["on", "off", "needs_owner_review"]).describe("Whether this key can buy funds"),
  perPurchaseLimit: dollarsSchema
    .nullable()
    .describe("Maximum of one purchase in US dollars; null if purchases are off"),
  monthlyLimit: dollarsSchema
    .nullable()
    .describe("Maximum per month in US dollars; null if purchases are off"),
  boughtThisMonth: dollarsSchema.describe("Amount that this key bought this month, US dollars"),
  pending: dollarsSchema.describe("Amount of payments in progress, US dollars"),
  remainingThisMonth: dollarsSchema
    .nullable()
    .describe(
      "Amount that this key can still buy this month, US dollars; null if purchases are off",
    ),
  cardOnFile: z.boolean().describe("Whether the company has a card"),
})

export const readCredits = route({
  name: "readCredits",
  method: "GET",
  url: "/api/v1/credits",
  group: "credits",
  summary: "Read the balance and what this key can buy",
  operation: "account.balance.read",
  isCounted: true,
  isAllowedWhenLocked: true,
  reply: Credits,
  readModels: ["accounts", "purchases"],
  readStreams: [accessStreamOf],
  specGap:
    "The specification does not show the limits of a key that cannot buy funds: perPurchaseLimit, " +
    "monthlyLimit and remainingThisMonth are null if purchases are off.",
  handle: async (ports, caller) => {
    const { companyId, key } = caller
    const now = ports.clock.now()
    const [balance, allowance, profile] = await Promise.all([
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
        cardOnFile: profile?.card !== null && profile?.card !== undefined,
      },
    }
  },
})

/** The purchase fields of a key. A purchase uses up the allowance when it starts, not when it is paid. */
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
