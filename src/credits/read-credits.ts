/** `GET /api/v1/credits`: the balance, and what this key may buy. */
import { z } from "zod"
import { accessStream, companyStanding } from "../../domain/access/access.ts"
import { dollarsFromMicros } from "../../domain/kernel/money.ts"
import { monthStart } from "../../domain/kernel/window.ts"
import { fundsOf } from "../../projections/accounts.ts"
import { boughtByKey } from "../../projections/charges.ts"
import { ACCESS } from "../aggregates.ts"
import type { Route } from "../pipeline/route.ts"
import { route } from "../pipeline/route.ts"

const Credits = z.object({
  balance: z.number().meta({ description: "Dollars, exact to the micro-dollar" }),
  purchases: z.enum(["on", "off", "needs_owner_review"]),
  perPurchaseLimit: z.number().nullable(),
  monthlyLimit: z.number().nullable(),
  boughtThisMonth: z.number(),
  pending: z.number(),
  remainingThisMonth: z.number().nullable(),
  cardOnFile: z.boolean(),
})

/** The route. */
const readCredits = route<unknown, unknown, z.infer<typeof Credits>>({
  method: "GET",
  url: "/api/v1/credits",
  group: "credits",
  summary: "Read the balance and what this key may buy",
  operation: "account.balance.read",
  counted: true,
  reply: Credits,
  reads: ["accounts", "charges"],
  handle: async (ports, caller) => {
    const { companyId } = caller
    const month = new Date(monthStart(ports.clock.now()))
    const { keyId } = caller.key
    const [balance, bought] = await Promise.all([
      ports.readAs(companyId, (db) => fundsOf(db, companyId)),
      ports.readAs(companyId, (db) => boughtByKey(db, companyId, keyId, month)),
    ])
    const standing = await ports.runner.look(ACCESS, accessStream(companyId), companyStanding)
    const { purchases } = caller.key
    const monthly = purchases?.perMonthMicros ?? null
    return {
      ok: true,
      body: {
        balance: dollarsFromMicros(balance),
        purchases: purchases?.mode ?? "off",
        perPurchaseLimit:
          purchases === null ? null : dollarsFromMicros(purchases.perPurchaseMicros),
        monthlyLimit: monthly === null ? null : dollarsFromMicros(monthly),
        boughtThisMonth: dollarsFromMicros(bought),
        pending: 0,
        remainingThisMonth:
          monthly === null ? null : dollarsFromMicros(Math.max(0, monthly - bought)),
        cardOnFile: standing?.card !== null && standing?.card !== undefined,
      },
    }
  },
})

/** The routes of the credits slice. */
export const creditsRoutes: readonly Route[] = [readCredits]
