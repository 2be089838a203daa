/** The notice of low funds, as an operator sets it for a company's owners. */
import { z } from "zod"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { accountOf, fundsNoticeOf } from "../../../domain/charging/ledger-views.ts"
import {
  DOLLARS_NOTE,
  accepted,
  company,
  dollars,
  findCompany,
  together,
} from "../../frame/operator/inputs.ts"
import { OWNER_OR_ADMIN } from "../../frame/operator/console-word.ts"
import { operation } from "../../frame/operator/operation.ts"

const NoticeTerms = z.object({
  company,
  below: dollars.optional().meta({ description: "the sum" }),
  off: z.boolean().default(false).meta({ description: "no notice any more" }),
})

/** Sets the sum, or turns the notice off. */
export const noticeFunds = operation({
  name: "funds notice",
  summary: "mail the owners when a company's funds fall below a sum",
  notes: [
    "Where the funds are below it already, they are told at once.",
    "They are told again when the funds were at the sum or above, and fall below it again.",
    DOLLARS_NOTE,
  ],
  example: "funds notice --company acme --below 20",
  changes: true,
  input: together(NoticeTerms, ({ below, off }) => {
    if (off && below !== undefined) return "--below and --off exclude one another: give one of them"
    return off || below !== undefined ? null : "say the sum with --below, or --off"
  }),
  console: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const stream = ledgerOf(companyId)
    const belowMicros = input.below ?? null
    const replacedMicros = await ports.runner.readLatest(stream, fundsNoticeOf)
    const command = { type: "SetFundsNotice" as const, belowMicros }
    const outcome = accepted(await ports.runner.execute(stream, command, cause, accountOf))
    return { companyId, belowMicros, replacedMicros, balanceMicros: outcome.view.fundsMicros }
  },
})
