/** The billing history of a month, for finance. */
import { z } from "zod"
import { BillRefused } from "../bill.ts"
import { BILL_FORMATS } from "../formats.ts"
import { writeBill } from "../write-bill.ts"
import { findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const Input = z.object({
  company: z.string(),
  month: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month such as 2026-11"),
  format: z.enum(BILL_FORMATS),
})

const exportBilling = operation({
  name: "export billing",
  isPatient: true,
  input: Input,
  run: async ({ ports, send, progress, signal }, { company, month, format }) => {
    const companyId = await findCompany(ports, company)
    try {
      return await writeBill(ports, { companyId, month, format }, { send, progress, signal })
    } catch (error) {
      if (error instanceof BillRefused) throw new OperatorRefused(error.code, error.message)
      throw error
    }
  },
})

/** Operations of finance. */
export const exportOperations: readonly AdminOperation[] = [exportBilling]
