/** What texts and calls to countries cost, by a carrier's list. */
import { readFile } from "node:fs/promises"
import { z } from "zod"
import { PRICES } from "../../../domain/charging/aggregates.ts"
import type { DestinationPrice } from "../../../domain/charging/price-book.ts"
import { bookVersion } from "../../../domain/charging/price-book.ts"
import { destinationClass } from "../../../domain/kernel/destinations.ts"
import { isCountry } from "../../frame/kernel/phone-number.ts"
import { accepted } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const HEADER = "country,carrierTextMicros,carrierCallMicros"
const LINE = /^([A-Z]{2}),(\d{1,11}),(\d{1,11})$/
/** No list of countries is longer. */
const MOST_CHARACTERS = 100_000
const DAY = /^\d{4}-\d{2}-\d{2}$/

const destinations = operation({
  name: "price destinations",
  summary: "set what texts and calls to countries cost, by a carrier's list",
  notes: [
    `The file is CSV with the header ${HEADER}: two letters, then micro-dollars a segment and a minute.`,
    "What is asked is the carrier's price times the markup, rounded up to 100 micro-dollars.",
    "Countries that are not in the file keep their price. The US and Canada are priced by price set.",
  ],
  example: "price destinations prices.csv --markup 1.3",
  changes: true,
  input: z.object({
    file: z.string().meta({ description: "the list", argument: "FILE", form: "file" }),
    markup: z
      .string()
      .regex(/^\d{1,2}(\.\d{1,3})?$/, "must be a number of at most three decimals, such as 1.3")
      .default("1.3")
      .meta({
        description: "how many times the carrier's price is asked; default 1.3",
        takes: "number",
      }),
    from: z
      .string()
      .refine(
        (text) => DAY.test(text) && !Number.isNaN(Date.parse(text)),
        "must be a day, such as 2026-11-01",
      )
      .optional()
      .meta({ description: "since when the carrier asks it; default today", takes: "day" }),
  }),
  run: async ({ ports, cause }, { file, markup, from }) => {
    const carrierPrices = pricesIn(await textOf(file))
    const today = new Date(ports.clock.now()).toISOString().slice(0, 10)
    const terms = { carrierPricesFrom: from ?? today, markupPermille: permilleOf(markup) }
    const command = { type: "SetDestinationPrices" as const, ...terms, carrierPrices }
    const done = accepted(await ports.runner.execute(PRICES, command, cause, bookVersion))
    return { countries: carrierPrices.length, version: done.view, ...terms }
  },
})

const permilleOf = (markup: string): number => Math.round(Number(markup) * 1_000)

/** @throws OperatorRefused where it cannot be read */
async function textOf(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).slice(0, MOST_CHARACTERS + 1)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new OperatorRefused("bad_file", `The server cannot read ${file} (${code}).`)
  }
}

/** @throws OperatorRefused with the first line that is wrong */
function pricesIn(text: string): readonly DestinationPrice[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/)
  const wrong = (line: number, what: string) =>
    new OperatorRefused("bad_file", `Line ${line} ${what}; nothing was changed.`)
  if (text.length > MOST_CHARACTERS) throw wrong(lines.length, "is one too many")
  if (lines[0] !== HEADER) throw wrong(1, `must be ${HEADER}`)
  const prices = new Map<string, DestinationPrice>()
  for (const [i, line] of lines.entries()) {
    if (i === 0 || line === "") continue
    const [, country = "", textMicros, callMicros] = LINE.exec(line) ?? []
    if (country === "") throw wrong(i + 1, "must be a country and two prices: GB,45000,12000")
    if (!isCountry(country)) throw wrong(i + 1, `names ${country}, which is no country`)
    const whose = destinationClass(country)
    if (whose === "always") throw wrong(i + 1, `prices ${country}, which price set does`)
    if (whose === "never") throw wrong(i + 1, `prices ${country}, which nobody reaches`)
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

/** Operations on what countries cost. */
export const destinationPriceOperations: readonly AdminOperation[] = [destinations]
