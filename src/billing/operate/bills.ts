/** Operations that list and export bills. */
import { z } from "zod"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import type { CurrentMonth } from "../../../domain/charging/ledger-views.ts"
import { currentMonthOf } from "../../../domain/charging/ledger-views.ts"
import type { MonthSums } from "../../../domain/charging/months.ts"
import { ZERO_MONTH_SUMS } from "../../../domain/charging/months.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import { monthEnd, formatMonth } from "../../../domain/kernel/window.ts"
import type { MonthRow } from "../../../projections/charging/months.ts"
import { listClosedMonths } from "../../../projections/charging/months.ts"
import {
  companyInput,
  findCompany,
  monthInput,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import {
  operation,
  OperatorRefused,
  CONSOLE_FILE_RATE_LIMIT,
} from "../../frame/operator/operation.ts"
import { BillRejected } from "../bill.ts"
import { BILL_FORMATS } from "../formats.ts"
import { writeBill } from "../write-bill.ts"

/** The bill of a month: opening funds, movements and closing funds. */
interface Bill extends Readonly<MonthSums> {
  readonly month: string
  readonly state: "open" | "closed"
  readonly openingMicros: Micros
  readonly closingMicros: Micros
}

const list = operation({
  name: "bill list",
  summary: "list a company's monthly bills, newest first, with the movements of its funds",
  notes: [
    "Months are UTC. A closed month never changes; an open month shows the amounts so far.",
    '"export billing" writes the lines of a month.',
  ],
  example: "bill list --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { permission: "See billing" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const closed = await listClosedMonths(ports.readAll, companyId)
    const current = await ports.runner.readLatest(ledgerStreamOf(companyId), currentMonthOf)
    // A month that was closed after the read model was read is listed once, as closed.
    const open = current === null ? [] : openBills(current, ports.clock.now())
    const isClosed = new Set(closed.map((one) => one.month))
    const bills = [...closed.map(closedBill), ...open.filter((one) => !isClosed.has(one.month))]
    return { bills: bills.toReversed() }
  },
})

function closedBill(row: MonthRow): Bill {
  return {
    month: row.month,
    state: "closed",
    openingMicros: row.opening_micros,
    addedMicros: row.added_micros,
    purchasedMicros: row.purchased_micros,
    correctedMicros: row.corrected_micros,
    chargedMicros: row.charged_micros,
    reducedMicros: row.reduced_micros,
    charges: row.charges,
    closingMicros: row.funds_micros,
  }
}

/** The month of the ledger's last fact, and the months since, which the next fact will close. */
function openBills(current: CurrentMonth, now: number): readonly Bill[] {
  const { addedMicros, purchasedMicros, correctedMicros, chargedMicros, reducedMicros } = current
  const { start, openingMicros, fundsMicros: closingMicros, charges } = current
  const sums = {
    addedMicros,
    purchasedMicros,
    correctedMicros,
    chargedMicros,
    reducedMicros,
  }
  const bills: Bill[] = [
    { month: formatMonth(start), state: "open", openingMicros, ...sums, charges, closingMicros },
  ]
  for (let at = monthEnd(start); at <= now; at = monthEnd(at)) {
    const funds = { openingMicros: closingMicros, ...ZERO_MONTH_SUMS, closingMicros }
    bills.push({ month: formatMonth(at), state: "open", ...funds })
  }
  return bills
}

export const billOperations: readonly AdminOperation[] = [list]

const ExportBillingInput = z.object({
  company: companyInput,
  month: monthInput,
  format: z.enum(BILL_FORMATS).meta({ description: "the file format" }),
})

const exportBilling = operation({
  name: "export billing",
  summary: "write a company's billing history of a month to a file",
  notes: [
    "The file is written completely or not at all, and only if its lines add up. Months are UTC.",
    "A closed month always gives the same rows; a later refund is a line in its own month.",
    "--out - writes to standard output instead.",
  ],
  example: "export billing --company acme --month 2026-11 --format csv --out acme-2026-11.csv",
  hasFile: true,
  isLongRunning: true,
  input: ExportBillingInput,
  consoleAccess: { permission: "See billing", rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async ({ ports, send, progress, signal }, input) => {
    const { month: of, format } = input
    const companyId = await findCompany(ports, input.company)
    try {
      return await writeBill(ports, { companyId, month: of, format }, { send, progress, signal })
    } catch (error) {
      if (error instanceof BillRejected) throw new OperatorRefused(error.code, error.message)
      throw error
    }
  },
})

export const exportOperations: readonly AdminOperation[] = [exportBilling]
