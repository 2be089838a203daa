/** The billing history of a month, for finance. */
import { z } from "zod"
import { BillRefused } from "../bill.ts"
import { BILL_FORMATS } from "../formats.ts"
import { writeBill } from "../write-bill.ts"
import { company, findCompany, month } from "../../frame/operator/inputs.ts"
import { FILES_WRITTEN } from "../../frame/operator/console-word.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"

const Input = z.object({
  company,
  month,
  format: z.enum(BILL_FORMATS).meta({ description: "the form of the file" }),
})

const exportBilling = operation({
  name: "export billing",
  summary: "write a company's billing history of a month to a file",
  notes: [
    "The file appears whole or not at all, and only if its lines add up. Months are UTC.",
    "A closed month gives the same rows for ever; a later give-back is a line of its own month.",
    "--out - writes to standard output instead.",
  ],
  example: "export billing --company acme --month 2026-11 --format csv --out acme-2026-11.csv",
  hasFile: true,
  isPatient: true,
  input: Input,
  console: { permission: "See billing", rate: FILES_WRITTEN },
  run: async ({ ports, send, progress, signal }, input) => {
    const { month: of, format } = input
    const companyId = await findCompany(ports, input.company)
    try {
      return await writeBill(ports, { companyId, month: of, format }, { send, progress, signal })
    } catch (error) {
      if (error instanceof BillRefused) throw new OperatorRefused(error.code, error.message)
      throw error
    }
  },
})

/** Operations of finance. */
export const exportOperations: readonly AdminOperation[] = [exportBilling]
