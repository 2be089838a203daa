/** The price book, as an operator reads and changes it. */
import { ROLES } from "../../../domain/access/permissions.ts"
import { PRICES } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { itemName } from "../../../domain/charging/item-names.ts"
import type { PriceBook, PricedItem } from "../../../domain/charging/price-book.ts"
import { PRICED_ITEMS, priceOf } from "../../../domain/charging/price-book.ts"
import { DOLLARS_NOTE, accepted, dollars } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const list = operation({
  name: "price list",
  summary: "list what things cost, and the version of the price book",
  example: "price list --json",
  input: z.object({}),
  console: { roles: ROLES },
  run: async ({ ports }) =>
    ports.runner.read(PRICES, (book) => ({
      version: priceOf(book, "api_call").priceVersion,
      prices: PRICED_ITEMS.map((item) => shown(book, item)),
    })),
})

const set = operation({
  name: "price set",
  summary: "change a price: a new version of the price book, never an edit",
  notes: ["What runs already keeps the price it began with.", DOLLARS_NOTE],
  example: "price set text_segment --dollars 0.009",
  changes: true,
  input: z.object({
    item: z.enum(PRICED_ITEMS).meta({ description: "what is priced", argument: "ITEM" }),
    dollars: dollars.meta({ description: "what one of it costs" }),
  }),
  run: async ({ ports, cause }, { item, dollars: unitPriceMicros }) => {
    if (item === "api_call" && unitPriceMicros === 0 && ports.testCards === null) {
      throw new OperatorRefused(
        "conflict",
        "API calls can be free for volume tests only: where a real provider takes payments they " +
          "have a price above zero.",
      )
    }
    const command = { type: "SetPrice" as const, item, unitPriceMicros }
    const view = (book: PriceBook) => priceOf(book, item)
    const outcome = accepted(await ports.runner.execute(PRICES, command, cause, view))
    const { priceVersion } = outcome.view
    return { item, unitPriceMicros, version: priceVersion, changed: outcome.facts.length > 0 }
  },
})

/** What an item is called on bills, and what one of it costs. */
function shown(book: PriceBook, item: PricedItem) {
  return { item, name: itemName(item), unitPriceMicros: priceOf(book, item).unitPriceMicros }
}

/** Operations on the price book. */
export const priceOperations: readonly AdminOperation[] = [list, set]
