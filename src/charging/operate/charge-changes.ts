/** Operations that record, refund and list pending charges. */
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import type { ChargeRefused } from "../../../domain/charging/ledger-events.ts"
import type { LedgerRefused, PurchaseRefused } from "../../../domain/charging/ledger-commands.ts"
import { accountOf } from "../../../domain/charging/ledger-views.ts"
import type { Spender } from "../../../domain/charging/limits.ts"
import { EXTERNAL_ID_RULE, isValidExternalId } from "../../../domain/charging/recent-names.ts"
import { resourceId } from "../../../domain/kernel/resource.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import { formatMoney } from "../../../domain/kernel/money.ts"
import type { ChargeRow } from "../../../projections/charging/charges.ts"
import { listPendingCharges, refundableChargeOf } from "../../../projections/charging/charges.ts"
import { lookUpCharge } from "../../frame/effects/charges.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { refusalBody } from "../../frame/routes/answers/refusal.ts"
import { chargeRefusal } from "../../frame/routes/answers/charge-refusals.ts"
import {
  DOLLARS_NOTE,
  companyInput,
  dollarsInput,
  findCompany,
  findPersonOf,
  waitForOwnWrites,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import {
  chargeIdArgument,
  companyOfCharge,
  chargeNotFound,
  chargeCompanyOption,
  chargeStateText,
} from "./charges.ts"

const callerChargeId = z
  .string()
  .refine(isValidExternalId, EXTERNAL_ID_RULE)
  .meta({ form: "charge-id" })

/** How often a charge is looked up again because it changed concurrently. */
const MAX_LOOKUPS = 20

const ChargeInput = z.object({
  company: companyInput,
  person: z
    .string()
    .optional()
    .meta({ description: "who spent it, by id; default only the company" }),
  class: z.enum(["ai", "general"]).meta({ description: "the spending class" }),
  dollars: dollarsInput.meta({ description: "the amount" }),
  item: textInput
    .refine((text) => text.trim() !== "" && text.length <= 500, "has 1 to 500 characters")
    .meta({ description: "what was bought", takes: "text" }),
  id: callerChargeId
    .optional()
    .meta({ description: "id of the charge, so that it is charged once" }),
})

const charge = operation({
  name: "charge",
  summary: "record a charge for usage outside the API (dashboard, app, AI models)",
  notes: [
    "It is checked against the same limits and funds as an API call, and rejected the same way.",
    "With --id, sending the same charge again charges nothing.",
    "The same id with another amount, item, class or person is rejected.",
    DOLLARS_NOTE,
  ],
  example: 'charge --company acme --class ai --dollars 0.42 --item "chat completion" --id run-1042',
  changes: true,
  input: ChargeInput,
  run: async (context, input) => {
    const { ports } = context
    const companyId = await findCompany(ports, input.company)
    const { person } = input
    const spender: Spender =
      person === undefined
        ? { via: "company", keyId: null, personId: null }
        : { via: "person", keyId: null, personId: await findPersonOf(ports, companyId, person) }
    for (let lookups = 0; lookups < MAX_LOOKUPS; lookups += 1) {
      context.signal.throwIfAborted()
      const answer = await chargeOnce(context, companyId, spender, input)
      if (answer !== null) return answer
    }
    throw busyChargeError(input.id ?? "")
  },
})

/** Charges unless the id was charged before; null if it must be looked up again. */
async function chargeOnce(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  spender: Spender,
  input: z.infer<typeof ChargeInput>,
): Promise<object | null> {
  const chargeId = input.id ?? newId("chg")
  const { row, searchedTo: searchedUpTo } = await lookUpCharge(ports, companyId, chargeId)
  const stream = ledgerStreamOf(companyId)
  if (row !== null) {
    rejectOtherCharge(chargeId, row, spender, input)
    const { fundsMicros } = await ports.runner.read(stream, accountOf)
    const { item, given_back_micros: refundedMicros } = row
    const found = chargeResult(companyId, chargeId, false, -row.amount_micros, fundsMicros)
    return { ...found, item, state: chargeStateText(row.state), refundedMicros }
  }
  const amountMicros = input.dollars
  const outcome = await ports.runner.execute(
    stream,
    {
      type: "Charge",
      chargeId,
      ...spender,
      class: input.class,
      item: input.item,
      quantity: 1,
      unitPriceMicros: amountMicros,
      // The caller named the price, so it is of no version of the price book.
      priceVersion: 0,
      amountMicros,
      resource: null,
      requestedAt: ports.clock.now(),
      dueAt: null,
      servedFrom: null,
      isPending: false,
      exemption: null,
      searchedUpTo,
    },
    cause,
    accountOf,
  )
  if (!outcome.accepted) {
    if (outcome.refusal.type === "LedgerRefused" && outcome.refusal.code === "search_again") {
      return null
    }
    // The evidence is stored as for every refusal: an auditor may ask for it.
    if (outcome.refusal.type === "ChargeRefused") ports.storeRefusal(companyId, outcome.refusal)
    throw toOperatorRefused(outcome.refusal)
  }
  // A concurrent command charged this id: look it up again.
  if (outcome.facts.length === 0) return null
  return chargeResult(companyId, chargeId, true, amountMicros, outcome.view.fundsMicros)
}

/** @throws OperatorRefused if the recorded charge with this id differs */
function rejectOtherCharge(
  chargeId: ChargeId,
  row: ChargeRow,
  { personId }: Spender,
  input: z.infer<typeof ChargeInput>,
): void {
  const recorded = {
    amountMicros: 0 - row.amount_micros,
    item: row.item,
    class: row.class,
    personId: row.person_id,
  }
  const others = [
    recorded.amountMicros === input.dollars ? [] : "amount",
    recorded.item === input.item ? [] : "item",
    recorded.class === input.class ? [] : "class",
    recorded.personId === personId ? [] : "person",
  ].flat()
  if (others.length === 0) return
  const message =
    `Charge ${chargeId} is recorded with another ${others.join(", ")}; nothing was charged. ` +
    "Use a new id."
  throw new OperatorRefused("idempotency_conflict", message, { chargeId, recorded })
}

function chargeResult(
  companyId: CompanyId,
  chargeId: ChargeId,
  charged: boolean,
  amountMicros: number,
  balanceMicros: number,
): object {
  return { companyId, chargeId, charged, amountMicros, balanceMicros }
}

/** The charge changed concurrently too often: nothing was done. */
function busyChargeError(chargeId: ChargeId): OperatorRefused {
  const message = `Charge ${chargeId} is being changed by other commands. Nothing was done; try again.`
  return new OperatorRefused("conflict", message)
}

/** A partial refund settles a charge: the rest would stay charged if its work failed later. */
function pendingChargeError(chargeId: ChargeId): OperatorRefused {
  const message =
    `Charge ${chargeId} is pending: if its work fails, it is refunded in full automatically. ` +
    "Refund a part after it is settled."
  return new OperatorRefused("conflict", message)
}

/** Converts a refused charge to an operator's error, with the message and body of the API. */
function toOperatorRefused(
  refusal: ChargeRefused | LedgerRefused | PurchaseRefused,
): OperatorRefused {
  if (refusal.type !== "ChargeRefused") {
    const message = "message" in refusal ? refusal.message : refusal.code
    return new OperatorRefused(refusal.code, message)
  }
  if (refusal.code === "ledger_closed") {
    return new OperatorRefused("ledger_closed", "This company was deleted.")
  }
  const { error, message, ...details } = refusalBody(chargeRefusal(refusal, null))
  return new OperatorRefused(String(error), String(message), details)
}

const refundOperation = operation({
  name: "charge refund",
  summary: "refund a charge once, in full or in part",
  notes: [
    "--reason is required: it is stored in the fact, for auditors.",
    "A pending charge cannot be refunded in part: it is refunded in full if its work fails.",
    DOLLARS_NOTE,
  ],
  example: 'charge refund chg_5cW1 --reason "charged for a test"',
  changes: true,
  needsReason: true,
  input: z.object({
    chargeId: chargeIdArgument,
    dollars: dollarsInput.optional().meta({ description: "refund only this much" }),
    company: chargeCompanyOption,
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async (context, { chargeId, company: named, dollars: part }) => {
    const { ports, cause } = context
    const { reason } = cause
    if (reason === null) {
      throw new OperatorRefused("validation", "Pass the reason of the refund with --reason.")
    }
    await waitForOwnWrites(ports)
    const companyId =
      named === undefined ? await companyOfCharge(ports, chargeId) : await findCompany(ports, named)
    for (let lookups = 0; lookups < MAX_LOOKUPS; lookups += 1) {
      context.signal.throwIfAborted()
      const found = await lookUpCharge(ports, companyId, chargeId)
      const { row, searchedTo } = found
      if (row === null) throw await chargeNotFound(ports, chargeId)
      const totalMicros = -row.amount_micros
      if (row.given_back_micros > 0) throw alreadyRefundedError(chargeId, row)
      if (row.state === "open" && part !== undefined) throw pendingChargeError(chargeId)
      if (totalMicros === 0) {
        throw new OperatorRefused("conflict", `Charge ${chargeId} cost nothing.`)
      }
      const command = {
        type: "RefundSettledCharge" as const,
        ...refundableChargeOf(row),
        amountMicros: part ?? null,
        reason,
        searchedUpTo: searchedTo,
      }
      const stream = ledgerStreamOf(companyId)
      const outcome = await ports.runner.execute(stream, command, cause, accountOf)
      if (outcome.accepted && outcome.facts.length > 0) {
        const refundedMicros = part ?? totalMicros
        return { companyId, chargeId, refundedMicros, balanceMicros: outcome.view.fundsMicros }
      }
      // The charge ended concurrently, or the ledger has moved on too far: look it up again.
      if (outcome.accepted) continue
      const { refusal } = outcome
      if (refusal.type === "LedgerRefused" && refusal.code === "search_again") continue
      throw toOperatorRefused(refusal)
    }
    throw busyChargeError(chargeId)
  },
})

function alreadyRefundedError(chargeId: ChargeId, row: ChargeRow): OperatorRefused {
  const refunded = formatMoney(row.given_back_micros)
  const message = `Charge ${chargeId} was already refunded (${refunded}). A charge can be refunded once.`
  return new OperatorRefused("conflict", message, { refundedMicros: row.given_back_micros })
}

const listPending = operation({
  name: "charge pending",
  summary: "list pending charges, oldest first",
  example: "charge pending --company acme",
  input: z.object({ company: companyInput.optional() }),
  consoleAccess: { permission: "See billing" },
  run: async ({ ports }, { company: named }) => {
    const companyId = named === undefined ? null : await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listPendingCharges(ports.readAll, companyId)
    return {
      charges: rows.map((row) => ({
        chargeId: row.charge_id,
        companyId: row.company_id,
        at: row.at.toISOString(),
        item: row.item,
        amountMicros: -row.amount_micros,
        resource: row.resource === null ? null : resourceId(row.resource),
        keyId: row.key_id,
        personId: row.person_id,
      })),
    }
  },
})

export const chargeChangeOperations: readonly AdminOperation[] = [
  charge,
  refundOperation,
  listPending,
]
