/** What a company spent day by day, as an operator reads it. */
import { z } from "zod"
import type { ChargeDay } from "../../../projections/charging/charge-days.ts"
import {
  listChargeDays,
  chargedItems,
  wasCharged,
} from "../../../projections/charging/charge-days.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import {
  DOLLARS_NOTE,
  company,
  findCompany,
  month,
  showWrites,
  keyNamed,
  personNamed,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts, Asking } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { listCallTallies } from "../../../projections/charging/api-calls.ts"
import { ITEM_NAMES, itemCalled, itemNamed } from "../../../domain/charging/items.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { ChargesAsked } from "../../../projections/charging/charge-lists.ts"
import { nearestName } from "../../frame/kernel/nearest.ts"

/** So many of a company's own items are looked through for what was meant. */
const MOST_ITEMS = 1_000

/** The fields that say it. */
export const whichCharges = {
  key: z.string().optional().meta({ description: "only by this key, by id" }),
  person: z.string().optional().meta({ description: "only of this person, by id" }),
  item: z.string().optional().meta({ description: "only of this item" }),
}

type Which = z.infer<z.ZodObject<typeof whichCharges>>

/** The input, as it is about somebody's own spending: theirs, and that of their keys. */
export function ofOwnSpending<I extends { readonly person?: string | undefined }>({
  input,
  me,
}: Asking<I>): I | null {
  const { person = me.personId } = input
  return person === me.personId ? { ...input, person } : null
}

/** The same as queries ask for it. @throws OperatorRefused where nothing goes by such a name */
export async function chargesAsked(
  ports: Pick<AdminPorts, "readAll">,
  companyId: CompanyId,
  { key, person, item }: Which,
): Promise<Pick<ChargesAsked, "keyId" | "personId" | "item">> {
  return {
    keyId: key === undefined ? null : keyNamed(key),
    personId: person === undefined ? null : personNamed(person),
    item: item === undefined ? null : await findItem(ports, companyId, item),
  }
}

/**
 * An item by its name in the price book, on the bill or in a charge. What was charged under exactly
 * this name goes before what it may be short for.
 *
 * @throws OperatorRefused where nothing goes by it
 */
async function findItem(
  ports: Pick<AdminPorts, "readAll">,
  companyId: CompanyId,
  name: string,
): Promise<string> {
  if (await wasCharged(ports.readAll, companyId, name)) return name
  const item = itemNamed(name) ?? itemCalled(name)
  if (item !== null) return item
  const own = await chargedItems(ports.readAll, companyId, MOST_ITEMS)
  const nearest = nearestName(name, [...ITEM_NAMES, ...own])
  const meant = nearest === null ? '"price list" has those with a price.' : `Was ${nearest} meant?`
  throw new OperatorRefused("not_found", `There is no item "${name}". ${meant}`)
}

const days = operation({
  name: "charge days",
  summary: "add up a month's charges by UTC day and item, less what came back of them",
  notes: [
    "Calls of the API are of the day on which they were made, and charged the night after it; what " +
      "came back is of the day of its charge.",
    DOLLARS_NOTE,
  ],
  example: "charge days --company acme --month 2026-11",
  input: z.object({
    company,
    month: month.optional().meta({ description: "of this month, as YYYY-MM; default this month" }),
    ...whichCharges,
    class: z.enum(["ai", "general"]).optional().meta({ description: "only of this class" }),
  }),
  console: { permission: "See billing", own: ofOwnSpending },
  run: async ({ ports }, { month: named = monthOf(ports.clock.now()), ...input }) => {
    const companyId = await findCompany(ports, input.company)
    await showWrites(ports)
    const asked = await chargesAsked(ports, companyId, input)
    const found = await listChargeDays(ports.readAll, {
      companyId,
      month: named,
      ...asked,
      class: input.class ?? null,
    })
    const shown = found.map((one) => ({
      ...one,
      netMicros: one.chargedMicros - one.givenBackMicros,
    }))
    return { month: named, days: shown, ...totalsOf(found) }
  },
  render: ({ month: named, days: rows, ...totals }, page) =>
    `${renderTable(rows, page, "charges")}\n${renderFields(Object.entries({ month: named, ...totals }))}`,
})

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

function totalsOf(rows: readonly ChargeDay[]) {
  const sumOf = (field: "chargedMicros" | "givenBackMicros" | "charges") =>
    rows.reduce((sum, row) => sum + row[field], 0)
  const [chargedMicros, givenBackMicros] = [sumOf("chargedMicros"), sumOf("givenBackMicros")]
  const netMicros = chargedMicros - givenBackMicros
  return { chargedMicros, givenBackMicros, netMicros, charges: sumOf("charges") }
}

/** Spending by day. */
export const chargeDayOperations: readonly AdminOperation[] = [days]

const list = operation({
  name: "calls list",
  summary: "list the API calls counted per UTC day, key and person",
  notes: ["Calls are charged the night after their day."],
  example: "calls list --company acme --day 2026-11-21",
  input: z.object({
    company,
    day: z.iso
      .date("must be a day such as 2026-11-30")
      .optional()
      .meta({ description: "of this UTC day only, YYYY-MM-DD", form: "day" }),
  }),
  console: { permission: "See billing" },
  run: async ({ ports }, { company: named, day }) => {
    const companyId = await findCompany(ports, named)
    // What is counted and only gathered is recorded first: the list has every call served so far.
    await ports.settle()
    await showWrites(ports)
    const tallies = await listCallTallies(ports.readAll, companyId, day ?? null)
    return {
      tallies: tallies.map((tally) => ({
        day: tally.day,
        keyId: tally.key_id,
        personId: tally.person_id === "" ? null : tally.person_id,
        calls: tally.calls,
        unitPriceMicros: tally.unit_price_micros,
        chargedAt: tally.charged_at?.toISOString() ?? null,
      })),
    }
  },
})

/** Operations on API calls. */
export const callOperations: readonly AdminOperation[] = [list]
