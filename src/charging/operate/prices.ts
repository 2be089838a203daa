/** Operations on the price book and the prices of countries. */
import { ROLES } from "../../../domain/access/permissions.ts"
import { PRICES_STREAM } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import type { PricedItem } from "../../../domain/charging/items.ts"
import { itemLabelOf, PRICED_ITEMS } from "../../../domain/charging/items.ts"
import type { DestinationPrice, PriceBook } from "../../../domain/charging/price-book.ts"
import { priceBookVersion, priceOfItem } from "../../../domain/charging/price-book.ts"
import { requireAccepted, dollarsInput, DOLLARS_NOTE } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { readFile } from "node:fs/promises"
import { destinationClass } from "../../../domain/kernel/destinations.ts"
import { isCountry } from "../../frame/kernel/schema.ts"

const list = operation({
  name: "price list",
  summary: "list the prices, and the version of the price book",
  example: "price list --json",
  input: z.object({}),
  consoleAccess: { roles: ROLES },
  run: async ({ ports }) =>
    ports.runner.read(PRICES_STREAM, (book) => ({
      version: priceOfItem(book, "api_call").priceVersion,
      prices: PRICED_ITEMS.map((item) => toPriceView(book, item)),
    })),
})

const set = operation({
  name: "price set",
  summary: "change a price, in a new version of the price book",
  notes: ["Running work keeps the price it started with.", DOLLARS_NOTE],
  example: "price set text_segment --dollars 0.009",
  changes: true,
  input: z.object({
    item: z.enum(PRICED_ITEMS).meta({ description: "the item", argument: "ITEM" }),
    dollars: dollarsInput.meta({ description: "the price of one unit" }),
  }),
  run: async ({ ports, cause }, { item, dollars: unitPriceMicros }) => {
    if (item === "api_call" && unitPriceMicros === 0 && ports.simulatedCards === null) {
      throw new OperatorRefused(
        "conflict",
        "API calls can only be free while payments are simulated, for volume tests. " +
          "Set a price above zero.",
      )
    }
    const command = { type: "SetPrice" as const, item, unitPriceMicros }
    const view = (book: PriceBook) => priceOfItem(book, item)
    const outcome = requireAccepted(await ports.runner.execute(PRICES_STREAM, command, cause, view))
    const { priceVersion } = outcome.view
    return { item, unitPriceMicros, version: priceVersion, changed: outcome.facts.length > 0 }
  },
})

/** A price with the item's name on bills. */
function toPriceView(book: PriceBook, item: PricedItem) {
  return { item, name: itemLabelOf(item), unitPriceMicros: priceOfItem(book, item).unitPriceMicros }
}

export const priceOperations: readonly AdminOperation[] = [list, set]

const CSV_HEADER = "country,carrierTextMicros,carrierCallMicros"
const CSV_LINE = /^([A-Z]{2}),(\d{1,11}),(\d{1,11})$/
/** The maximum length of a price file; a list of all countries is shorter. */
const MAX_CHARACTERS = 100_000
const DAY = /^\d{4}-\d{2}-\d{2}$/

const setDestinationPrices = operation({
  name: "price destinations",
  summary: "set the prices of texts and calls to countries, from a carrier's price list",
  notes: [
    `The file is CSV with the header ${CSV_HEADER}: the two-letter country, then micro-dollars per segment and per minute.`,
    "A price is the carrier's price times the markup, rounded up to 100 micro-dollars.",
    "Countries that are not in the file keep their prices. Use price set for the US and Canada.",
  ],
  example: "price destinations prices.csv --markup 1.3",
  changes: true,
  input: z.object({
    file: z.string().meta({ description: "the price list", argument: "FILE", form: "file" }),
    markup: z
      .string()
      .regex(/^\d{1,2}(\.\d{1,3})?$/, "must be a number of at most three decimals, such as 1.3")
      .default("1.3")
      .meta({
        description: "factor on the carrier's price; default 1.3",
        takes: "number",
      }),
    from: z
      .string()
      .refine(
        (text) => DAY.test(text) && !Number.isNaN(Date.parse(text)),
        "must be a day, such as 2026-11-01",
      )
      .optional()
      .meta({ description: "first day of the carrier's prices; default today", takes: "day" }),
  }),
  run: async ({ ports, cause }, { file, markup, from }) => {
    const carrierPrices = parseDestinationPrices(await readPriceFile(file))
    const today = new Date(ports.clock.now()).toISOString().slice(0, 10)
    const terms = { carrierPricesFrom: from ?? today, markupPermille: permilleOf(markup) }
    const command = { type: "SetDestinationPrices" as const, ...terms, carrierPrices }
    const done = requireAccepted(
      await ports.runner.execute(PRICES_STREAM, command, cause, priceBookVersion),
    )
    return { countries: carrierPrices.length, version: done.view, ...terms }
  },
})

const permilleOf = (markup: string): number => Math.round(Number(markup) * 1_000)

/** @throws OperatorRefused if the file cannot be read */
async function readPriceFile(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).slice(0, MAX_CHARACTERS + 1)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new OperatorRefused("bad_file", `The server cannot read ${file} (${code}).`)
  }
}

/** @throws OperatorRefused for the first invalid line */
function parseDestinationPrices(text: string): readonly DestinationPrice[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/)
  const wrong = (line: number, what: string) =>
    new OperatorRefused("bad_file", `Line ${line} ${what}; nothing was changed.`)
  if (text.length > MAX_CHARACTERS)
    throw wrong(lines.length, `is beyond the limit of ${MAX_CHARACTERS} characters`)
  if (lines[0] !== CSV_HEADER) throw wrong(1, `must be ${CSV_HEADER}`)
  const prices = new Map<string, DestinationPrice>()
  for (const [i, line] of lines.entries()) {
    if (i === 0 || line === "") continue
    const [, country = "", textMicros, callMicros] = CSV_LINE.exec(line) ?? []
    if (country === "") throw wrong(i + 1, "must be a country and two prices: GB,45000,12000")
    if (!isCountry(country)) throw wrong(i + 1, `names ${country}, which is not a country code`)
    const pricing = destinationClass(country)
    if (pricing === "always") throw wrong(i + 1, `prices ${country}, which "price set" prices`)
    if (pricing === "never") throw wrong(i + 1, `prices ${country}, which cannot be reached`)
    if (prices.has(country)) throw wrong(i + 1, `names ${country} a second time`)
    prices.set(country, {
      country,
      textMicros: Number(textMicros),
      callMicros: Number(callMicros),
    })
  }
  if (prices.size === 0) throw wrong(2, "must be a country and two prices")
  return [...prices.values()]
}

export const destinationPriceOperations: readonly AdminOperation[] = [setDestinationPrices]
