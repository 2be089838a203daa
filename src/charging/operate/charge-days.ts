/** What a company spent day by day, as an operator reads it. */
import { z } from "zod"
import type { ChargeDay } from "../../../projections/charging/charge-days.ts"
import { listChargeDays } from "../../../projections/charging/charge-days.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import {
  DOLLARS_NOTE,
  company,
  findCompany,
  month,
  showWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"
import { chargesAsked, ofOwnSpending, whichCharges } from "./which-charges.ts"

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
