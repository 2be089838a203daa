/** The account requirements of routes: a card, a verified card, a card that does not fail. */
import { expect, it } from "vitest"
import type { CompanyProfile } from "../../domain/access/access.ts"
import { accountRefusal } from "../../src/frame/routes/checks/2-account.ts"
import type { AccountRequirement } from "../../src/frame/routes/declare/route.ts"

const NEEDS: readonly AccountRequirement[] = ["managed", "card", "verified card"]

function profileWith(card: CompanyProfile["card"]): CompanyProfile {
  const terms = { plan: "payg", pays: "prepaid", channel: "stable", affiliateTag: null } as const
  return { companyId: "co_a", name: "s1.company.YWNtZQ", ...terms, card }
}

it.for([
  ["no card", null, ["needs_managed_plan", "card_required", "card_required"]],
  ["a card", { verified: false, failing: false }, [null, null, "card_required"]],
  ["a verified card", { verified: true, failing: false }, [null, null, null]],
  [
    "a failing card",
    { verified: false, failing: true },
    ["needs_managed_plan", null, "card_required"],
  ],
  [
    "a verified card that fails",
    { verified: true, failing: true },
    ["needs_managed_plan", null, null],
  ],
] as const)("an account with %s", ([, card, expected]) => {
  const refusals = NEEDS.map((need) => accountRefusal(need, profileWith(card)))
  expect(refusals.map((refusal) => refusal?.error ?? null)).toEqual(expected)
  for (const refusal of refusals) {
    if (refusal !== null) expect(refusal.status).toBe(402)
  }
})
