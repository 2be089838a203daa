/** The billing history of a month, for finance. */
import { z } from "zod"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { monthEnd } from "../../domain/kernel/window.ts"
import { billingLines, fundsOfLines, lastLineBefore } from "../../projections/billing-lines.ts"
import { readMetadata } from "../envelope.ts"
import { billingCsv, billingHeader } from "../exports/billing-csv.ts"
import { findCompany } from "./inputs.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "./operation.ts"
import { OperatorRefused, operation } from "./operation.ts"

const PAGE_LINES = 5_000
const WAIT_MS = 30_000

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
    const from = new Date(`${month}-01T00:00:00.000Z`)
    const until = new Date(monthEnd(from.getTime()))
    const isOpen = until.getTime() > ports.clock.now()
    if (!(await ports.projector.waitFor(await ports.store.head(), WAIT_MS, ["charges"]))) {
      const message = 'The read model "charges" is stopped or behind; see "projections status".'
      throw new OperatorRefused("unavailable", message)
    }
    // Lines are decided in the order of their times, so what comes from here on changes nothing.
    const upTo = await lastLineBefore(ports.readAll, companyId, until)
    const { lines, total } = await sendLines(context, companyId, from, upTo)
    const opening = await fundsOfLines(ports.readAll, companyId, upTo, from)
    const closing = await fundsOfLines(ports.readAll, companyId, upTo)
    if (opening + total !== closing) {
      const message =
        `The lines of ${month} sum to ${total} micros, but the funds changed by ` +
        `${closing - opening}: the read model "charges" changed while it was read; export again.`
      throw new OperatorRefused("conflict", message)
    }
    return {
      companyId,
      month,
      state: isOpen ? "open" : "closed",
      lines,
      totalMicros: total,
      openingMicros: opening,
      closingMicros: closing,
      ...(await headAt(ports, companyId, upTo)),
    }
  },
})

/** The head of the end of the range: the last line's revision and hash, as `audit verify` has it. */
async function headAt(ports: AdminPorts, companyId: CompanyId, revision: number) {
  if (revision < 0) return { headRevision: null, head: null }
  const range = { from: revision, limit: 1 }
  for await (const [last] of ports.store.read(ledgerStream(companyId), range)) {
    if (last !== undefined) {
      return { headRevision: revision, head: readMetadata(last.metadata).hash }
    }
  }
  const message = `The ledger of ${companyId} has no revision ${revision}; run "audit verify".`
  throw new OperatorRefused("conflict", message)
}

/** Sends the lines from an instant on page by page; answers their number and sum. */
async function sendLines(
  { ports, send, progress, signal }: AdminContext,
  companyId: CompanyId,
  from: Date,
  upTo: number,
): Promise<{ readonly lines: number; readonly total: number }> {
  await send(billingHeader())
  let lines = 0
  let total = 0
  let after = -1
  for (;;) {
    signal.throwIfAborted()
    const query = { companyId, from, after, upTo, limit: PAGE_LINES }
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
