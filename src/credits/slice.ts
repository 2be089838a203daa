/** The credits slice: buying funds, collecting debts of pay-by-card companies, and verifying cards. */
import { cardSettings, cardsProvider, cardsProbe, examineCards } from "./providers/cards.ts"
import { cardOperations } from "./operate/cards.ts"
import { purchasesReadModel } from "../../projections/charging/purchases.ts"
import type { Slice } from "../frame/slice.ts"
import { buyCredits } from "./buy-credits.ts"
import { cardCheckEffect } from "./reactions/check-card.ts"
import { collectCredit } from "./reactions/collect-credit.ts"
import { purchaseEffect } from "./reactions/pay-purchase.ts"
import { readCredits } from "./read-credits.ts"

export const creditsSlice: Slice = {
  name: "credits",
  groups: {
    credits: `The company's funds in dollars. A key can buy more if an owner allows it.

A purchase needs an \`Idempotency-Key\`, and a repeated request never buys twice. 202 means that it is not paid yet: send
the same request again to read its status. A 402 on another route has in \`pay\` the request that buys the missing funds.`,
  },
  routes: [readCredits, buyCredits],
  readModels: [purchasesReadModel],
  reactions: [...purchaseEffect, collectCredit, ...cardCheckEffect],
  commands: cardOperations,
  topics: { card: "companies' payment cards" },
  settings: [cardSettings],
  providers: [cardsProvider],
  probes: [cardsProbe],
  doctorCheck: examineCards,
}
