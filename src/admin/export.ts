/** The billing history of a month, for finance. */
import { z } from "zod"
import { tokenOf } from "../position-token.ts"
import { monthEnd } from "../../domain/kernel/window.ts"
import { billingLines, fundsBefore } from "../../projections/charges.ts"
import { billingCsv, billingHeader } from "../exports/billing-csv.ts"
import { findCompany, showWrites } from "./inputs.ts"
import type { AdminContext, AdminOperation } from "./operation.ts"
import { OperatorRefused, operation } from "./operation.ts"

const PAGE_LINES = 5_000

const Input = z.object({
  company: z.string(),
  month: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month such as 2026-11"),
  format: z.enum(["csv"]),
})

const exportBilling = operation({
  name: "export billing",
  input: Input,
  run: async (context, { company, month }) => {
    const { ports } = context
    const companyId = await findCompany(ports, company)
    await showWrites(ports)
    const head = await ports.store.head()
    const from = new Date(`${month}-01T00:00:00.000Z`)
    const until = new Date(monthEnd(from.getTime()))
    const { lines, total } = await sendLines(context, companyId, from, until)
    const opening = await fundsBefore(ports.readAll, companyId, from)
    const closing = await fundsBefore(ports.readAll, companyId, until)
    if (opening + total !== closing) {
      const message =
        `The lines of ${month} sum to ${total} micros, but the funds changed by ` +
        `${closing - opening}: the read model "charges" changed while it was read; export again.`
      throw new OperatorRefused("conflict", message)
    }
    return {
      companyId,
      month,
      state: until.getTime() > ports.clock.now() ? "open" : "closed",
      lines,
      totalMicros: total,
      openingMicros: opening,
      closingMicros: closing,
      head: tokenOf(head),
    }
  },
})

/** Sends the month's lines page by page; answers their number and sum. */
async function sendLines(
  { ports, send, progress, signal }: AdminContext,
  companyId: string,
  from: Date,
  until: Date,
): Promise<{ readonly lines: number; readonly total: number }> {
  await send(billingHeader())
  let lines = 0
  let total = 0
  let after = -1
  for (;;) {
    signal.throwIfAborted()
    const query = { companyId, from, until, after, limit: PAGE_LINES }
    const page = await billingLines(ports.readAll, query)
    if (page.length === 0) return { lines, total }
    await send(billingCsv(page))
    lines += page.length
    total += page.reduce((sum, row) => sum + row.amount_micros, 0)
    after = page.at(-1)?.revision ?? after
    progress(`${lines} lines`)
  }
}

/** Operations of finance. */
export const exportOperations: readonly AdminOperation[] = [exportBilling]
