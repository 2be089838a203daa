/** What a company spent day by day, as an operator reads it. */
import { z } from "zod"
import type { ChargeDay } from "../../../projections/charging/charge-days.ts"
import {
  listChargeDays,
  listChargedItems,
  wasItemCharged,
} from "../../../projections/charging/charge-days.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import {
  DOLLARS_NOTE,
  companyInput,
  findCompany,
  monthInput,
  waitForOwnWrites,
  requireKeyId,
  requirePersonId,
} from "../../frame/operator/inputs.ts"
import type {
  AdminOperation,
  AdminPorts,
  ConsoleAccessRequest,
} from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { listApiCallCounters } from "../../../projections/charging/api-calls.ts"
import { ITEM_NAMES, itemByLabel, itemByName } from "../../../domain/charging/items.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { ChargesQuery } from "../../../projections/charging/charge-queries.ts"
import { nearestName } from "../../frame/kernel/nearest.ts"

/** So many of a company's own items are looked through for what was meant. */
const MAX_ITEMS = 1_000

/** The fields that say it. */
export const chargeFilterOptions = {
  key: z.string().optional().meta({ description: "only by this key, by id" }),
  person: z.string().optional().meta({ description: "only of this person, by id" }),
  item: z.string().optional().meta({ description: "only of this item" }),
}

type ChargeFilterInput = z.infer<z.ZodObject<typeof chargeFilterOptions>>

/** The input, as it is about somebody's own spending: theirs, and that of their keys. */
export function limitToOwnSpending<I extends { readonly person?: string | undefined }>({
  input,
  person: me,
}: ConsoleAccessRequest<I>): I | null {
  const { person = me.personId } = input
  return person === me.personId ? { ...input, person } : null
}

/** The same as queries ask for it. @throws OperatorRefused where nothing goes by such a name */
export async function toChargeFilter(
  ports: Pick<AdminPorts, "readAll">,
  companyId: CompanyId,
  { key, person, item }: ChargeFilterInput,
): Promise<Pick<ChargesQuery, "keyId" | "personId" | "item">> {
  return {
    keyId: key === undefined ? null : requireKeyId(key),
    personId: person === undefined ? null : requirePersonId(person),
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
  if (await wasItemCharged(ports.readAll, companyId, name)) return name
  const item = itemByName(name) ?? itemByLabel(name)
  if (item !== null) return item
  const own = await listChargedItems(ports.readAll, companyId, MAX_ITEMS)
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
    company: companyInput,
    month: monthInput
      .optional()
      .meta({ description: "of this month, as YYYY-MM; default this month" }),
    ...chargeFilterOptions,
    class: z.enum(["ai", "general"]).optional().meta({ description: "only of this class" }),
  }),
  consoleAccess: { permission: "See billing", ownInput: limitToOwnSpending },
  run: async ({ ports }, { month: named = monthOf(ports.clock.now()), ...input }) => {
    const companyId = await findCompany(ports, input.company)
    await waitForOwnWrites(ports)
    const asked = await toChargeFilter(ports, companyId, input)
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
    company: companyInput,
    day: z.iso
      .date("must be a day such as 2026-11-30")
      .optional()
      .meta({ description: "of this UTC day only, YYYY-MM-DD", form: "day" }),
  }),
  consoleAccess: { permission: "See billing" },
  run: async ({ ports }, { company: named, day }) => {
    const companyId = await findCompany(ports, named)
    // What is counted and only gathered is recorded first: the list has every call served so far.
    await ports.flush()
    await waitForOwnWrites(ports)
    const tallies = await listApiCallCounters(ports.readAll, companyId, day ?? null)
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
export const apiCallOperations: readonly AdminOperation[] = [list]
