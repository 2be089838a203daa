/** Operations on a company's funds and its low-funds alert. */
import { z } from "zod"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { accountOf, lowFundsAlertOf } from "../../../domain/charging/ledger-views.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import { formatMoney } from "../../../domain/kernel/money.ts"
import { fundsAddedByReference } from "../../../projections/charging/charge-queries.ts"
import {
  requireAccepted,
  companyInput,
  dollarsInput,
  DOLLARS_NOTE,
  findCompany,
  waitForOwnWrites,
  withCrossFieldCheck,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused, OWNER_OR_ADMIN } from "../../frame/operator/operation.ts"

const addFunds = operation({
  name: "funds add",
  summary: "add funds to a company as an operator's credit",
  notes: [
    DOLLARS_NOTE,
    "Adding the same reference again adds nothing; with another amount it is rejected.",
  ],
  example: "funds add --company acme --dollars 25 --reference invoice-1042",
  changes: true,
  input: z.object({
    company: companyInput,
    dollars: dollarsInput.meta({ description: "the amount" }),
    reference: textInput
      .optional()
      .meta({ description: "reference of this credit, so that it is added once" }),
  }),
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const outcome = requireAccepted(
      await ports.runner.execute(
        ledgerStreamOf(companyId),
        {
          type: "AddFunds",
          amountMicros: input.dollars,
          reference: input.reference ?? null,
        },
        cause,
        accountOf,
      ),
    )
    const added = outcome.facts.length > 0
    if (!added && input.reference !== undefined) {
      await rejectOtherAmount(ports, companyId, input.reference, input.dollars)
    }
    return { companyId, added, balanceMicros: outcome.view.fundsMicros }
  },
})

/** @throws OperatorRefused if another amount was added under this reference */
async function rejectOtherAmount(
  ports: Pick<AdminPorts, "projector" | "readAll" | "store">,
  companyId: CompanyId,
  reference: string,
  amountMicros: Micros,
): Promise<void> {
  await waitForOwnWrites(ports)
  const recorded = await fundsAddedByReference(ports.readAll, companyId, reference)
  if (recorded === amountMicros) return
  if (recorded === null) {
    const message = `The funds added as "${reference}" cannot be looked up yet. Nothing was added; try again.`
    throw new OperatorRefused("unavailable", message)
  }
  const message =
    `Funds were added as "${reference}" with another amount, ${formatMoney(recorded)}. ` +
    "Nothing was added. Use a new reference."
  throw new OperatorRefused("idempotency_conflict", message, {
    reference,
    recorded: { amountMicros: recorded },
  })
}

const correctFunds = operation({
  name: "funds correct",
  summary: "correct a company's funds, up or down, even below zero",
  notes: ["--reason is required: it is stored in the fact, for auditors.", DOLLARS_NOTE],
  example: 'funds correct --company acme --dollars -12.50 --reason "chargeback of invoice 1042"',
  changes: true,
  needsReason: true,
  input: z.object({
    company: companyInput,
    dollars: dollarsInput.meta({
      description: "the change; a negative amount takes funds away",
      form: "change",
    }),
  }),
  run: async ({ ports, cause }, { company: named, dollars: amountMicros }) => {
    const { reason } = cause
    if (reason === null) {
      throw new OperatorRefused("validation", "Pass the reason of the correction with --reason.")
    }
    const companyId = await findCompany(ports, named)
    const command = { type: "CorrectFunds" as const, amountMicros, reason }
    const stream = ledgerStreamOf(companyId)
    const outcome = requireAccepted(await ports.runner.execute(stream, command, cause, accountOf))
    return { companyId, correctedMicros: amountMicros, balanceMicros: outcome.view.fundsMicros }
  },
})

const NoticeTerms = z.object({
  company: companyInput,
  below: dollarsInput.optional().meta({ description: "the threshold" }),
  off: z.boolean().default(false).meta({ description: "turn the alert off" }),
})

const noticeFunds = operation({
  name: "funds notice",
  summary: "email the owners when a company's funds fall below a threshold",
  notes: [
    "If the funds are below it already, the owners are notified immediately.",
    "They are notified again after the funds have risen to the threshold and fallen below it again.",
    DOLLARS_NOTE,
  ],
  example: "funds notice --company acme --below 20",
  changes: true,
  input: withCrossFieldCheck(NoticeTerms, ({ below, off }) => {
    if (off && below !== undefined) return "--below and --off exclude each other: pass one of them"
    return off || below !== undefined ? null : "pass the threshold with --below, or --off"
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const stream = ledgerStreamOf(companyId)
    const belowMicros = input.below ?? null
    const replacedMicros = await ports.runner.readLatest(stream, lowFundsAlertOf)
    const command = { type: "SetLowFundsAlert" as const, belowMicros }
    const outcome = requireAccepted(await ports.runner.execute(stream, command, cause, accountOf))
    return { companyId, belowMicros, replacedMicros, balanceMicros: outcome.view.fundsMicros }
  },
})

export const fundsOperations: readonly AdminOperation[] = [addFunds, correctFunds, noticeFunds]
