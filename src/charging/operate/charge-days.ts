/** Operations on spending by day, and on counted API calls. */
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

/** How many of a company's own item names are searched for a suggestion. */
const MAX_ITEMS = 1_000

export const chargeFilterOptions = {
  key: z.string().optional().meta({ description: "only by this key, by id" }),
  person: z.string().optional().meta({ description: "only of this person, by id" }),
  item: z.string().optional().meta({ description: "only of this item" }),
}

type ChargeFilterInput = z.infer<z.ZodObject<typeof chargeFilterOptions>>

/**
 * Limits the input to the caller's own spending: their own and their keys'. Null if it names
 * another person.
 */
export function limitToOwnSpending<I extends { readonly person?: string | undefined }>({
  input,
  person: me,
}: ConsoleAccessRequest<I>): I | null {
  const { person = me.personId } = input
  return person === me.personId ? { ...input, person } : null
}

/**
 * Converts the filter options to a query.
 *
 * @throws OperatorRefused if an id or item is unknown
 */
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
 * Finds an item by its name in the price book, on the bill or in a charge. An exact match with a
 * charged item comes first.
 *
 * @throws OperatorRefused if there is no such item
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
  const hint =
    nearest === null ? '"price list" shows the priced items.' : `Did you mean ${nearest}?`
  throw new OperatorRefused("not_found", `There is no item "${name}". ${hint}`)
}

const days = operation({
  name: "charge days",
  summary: "add up a month's charges by UTC day and item, less refunds",
  notes: [
    "API calls count on the day they were made and are charged the night after. " +
      "A refund counts on the day of its charge.",
    DOLLARS_NOTE,
  ],
  example: "charge days --company acme --month 2026-11",
  input: z.object({
    company: companyInput,
    month: monthInput.optional().meta({ description: "the month, as YYYY-MM; default this month" }),
    ...chargeFilterOptions,
    class: z.enum(["ai", "general"]).optional().meta({ description: "only of this class" }),
  }),
  consoleAccess: { permission: "See billing", ownInput: limitToOwnSpending },
  run: async ({ ports }, { month: named = monthOf(ports.clock.now()), ...input }) => {
    const companyId = await findCompany(ports, input.company)
    await waitForOwnWrites(ports)
    const filter = await toChargeFilter(ports, companyId, input)
    const found = await listChargeDays(ports.readAll, {
      companyId,
      month: named,
      ...filter,
      class: input.class ?? null,
    })
    const rows = found.map((one) => ({
      ...one,
      netMicros: one.chargedMicros - one.refundedMicros,
    }))
    return { month: named, days: rows, ...totalsOf(found) }
  },
  render: ({ month: named, days: rows, ...totals }, page) =>
    `${renderTable(rows, page, "charges")}\n${renderFields(Object.entries({ month: named, ...totals }))}`,
})

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

function totalsOf(rows: readonly ChargeDay[]) {
  const sumOf = (field: "chargedMicros" | "refundedMicros" | "charges") =>
    rows.reduce((sum, row) => sum + row[field], 0)
  const [chargedMicros, refundedMicros] = [sumOf("chargedMicros"), sumOf("refundedMicros")]
  const netMicros = chargedMicros - refundedMicros
  return { chargedMicros, refundedMicros, netMicros, charges: sumOf("charges") }
}

export const chargeDayOperations: readonly AdminOperation[] = [days]

const list = operation({
  name: "calls list",
  summary: "list the API calls counted per UTC day, key and person",
  notes: ["API calls are charged the night after the day they were made."],
  example: "calls list --company acme --day 2026-11-21",
  input: z.object({
    company: companyInput,
    day: z.iso
      .date("must be a day such as 2026-11-30")
      .optional()
      .meta({ description: "only this UTC day, YYYY-MM-DD", form: "day" }),
  }),
  consoleAccess: { permission: "See billing" },
  run: async ({ ports }, { company: named, day }) => {
    const companyId = await findCompany(ports, named)
    // Buffered calls are stored first, so the list has every call served so far.
    await ports.flush()
    await waitForOwnWrites(ports)
    const counts = await listApiCallCounters(ports.readAll, companyId, day ?? null)
    return {
      counts: counts.map((row) => ({
        day: row.day,
        keyId: row.key_id,
        personId: row.person_id === "" ? null : row.person_id,
        calls: row.calls,
        unitPriceMicros: row.unit_price_micros,
        chargedAt: row.charged_at?.toISOString() ?? null,
      })),
    }
  },
})

export const apiCallOperations: readonly AdminOperation[] = [list]
