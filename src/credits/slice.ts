/** Buying funds, and collecting what pay-by-card companies owe. */
import { cardSettings, cards } from "./providers/cards.ts"
import { cardOperations } from "./operate/cards.ts"
import { purchases } from "../../projections/charging/purchases.ts"
import type { Slice } from "../frame/slice.ts"
import { buyCredits } from "./buy-credits.ts"
import { collectCredit } from "./reactions/collect-credit.ts"
import { purchaseEffect } from "./reactions/pay-purchase.ts"
import { readCredits } from "./read-credits.ts"

/** Buying funds and collecting what is owed. */
export const credits: Slice = {
  name: "credits",
  routes: [readCredits, buyCredits],
  readModels: [purchases],
  reactions: [...purchaseEffect, collectCredit],
  operations: cardOperations,
  topics: { card: "cards of the built-in test processor" },
  settings: [cardSettings],
  providers: [cards],
}
