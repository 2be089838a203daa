/** Buying funds, collecting what pay-by-card companies owe, and looking whether cards are good. */
import { cardSettings, cardsProvider, cardsProbe, examineCards } from "./providers/cards.ts"
import { cardOperations } from "./operate/cards.ts"
import { purchasesReadModel } from "../../projections/charging/purchases.ts"
import type { Slice } from "../frame/slice.ts"
import { buyCredits } from "./buy-credits.ts"
import { cardCheckEffect } from "./reactions/check-card.ts"
import { collectCredit } from "./reactions/collect-credit.ts"
import { purchaseEffect } from "./reactions/pay-purchase.ts"
import { readCredits } from "./read-credits.ts"

/** Buying funds and collecting what is owed. */
export const creditsSlice: Slice = {
  name: "credits",
  groups: {
    credits: `The company's funds in dollars, and buying more with a key that an owner lets buy.

A purchase needs an \`Idempotency-Key\` and happens once for ever. 202 says that it is not paid yet: send the same request
again to hear how it stands. A 402 on another route holds, as \`pay\`, the request that buys what is missing there.`,
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
