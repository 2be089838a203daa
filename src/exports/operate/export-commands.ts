/** Commands for bills. */
import type { CommandSpec } from "../../frame/operator/cli/command.ts"
import { COMPANY } from "../../frame/operator/cli/command.ts"
import { monthText } from "../../frame/operator/cli/option-values.ts"
import { BILL_FORMATS } from "../formats.ts"

const exportBilling: CommandSpec = {
  does: "operation",
  name: "export billing",
  summary: "write a company's billing history of a month to a file",
  notes: [
    "The file appears whole or not at all, and only if its lines add up. Months are UTC.",
    "A closed month gives the same rows for ever; a later give-back is a line of its own month.",
    "--out - writes to standard output instead.",
  ],
  example: "export billing --company acme --month 2026-11 --format csv --out acme-2026-11.csv",
  hasFile: true,
  options: [
    COMPANY,
    {
      flags: "--month <month>",
      description: "the month, as YYYY-MM",
      isRequired: true,
      parse: monthText,
    },
    {
      flags: "--format <format>",
      description: "the form of the file",
      isRequired: true,
      choices: BILL_FORMATS,
    },
  ],
}

/** Commands for bills. */
export const EXPORT_COMMANDS: readonly CommandSpec[] = [exportBilling]
