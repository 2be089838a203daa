/** The tallies of API calls, as an operator reads them. */
import { z } from "zod"
import { listCallTallies } from "../../../projections/charging/api-calls.ts"
import { company, findCompany, showWrites } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

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
