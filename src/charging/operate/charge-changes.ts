/** Charges as an operator makes, gives back and lists them. */
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
} from "./charges.ts"

const callerChargeId = z
  .string()
  .refine(isValidExternalId, EXTERNAL_ID_RULE)
  .meta({ form: "charge-id" })

/** How often an id is looked up again because something happened to it in the same moment. */
const MAX_LOOKUPS = 20

const ChargeInput = z.object({
  company: companyInput,
  person: z
    .string()
    .optional()
    .meta({ description: "who spent it, by id; else the company alone" }),
  class: z.enum(["ai", "general"]).meta({ description: "what kind it is" }),
  dollars: dollarsInput.meta({ description: "how much" }),
  item: textInput
    .refine((text) => text.trim() !== "" && text.length <= 500, "has 1 to 500 characters")
    .meta({ description: "what was bought", takes: "text" }),
  id: callerChargeId.optional().meta({ description: "names it, so that it is charged once" }),
})

const charge = operation({
  name: "charge",
  summary: "charge spending made outside the API: dashboard, app, AI models",
  notes: [
    "It passes the same limits and funds as a call of the API, or is refused as one.",
    "With --id, the same again charges nothing.",
    "The same id with another amount, item, class or person is refused.",
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
    for (let looks = 0; looks < MAX_LOOKUPS; looks += 1) {
      context.signal.throwIfAborted()
      const answer = await chargeOnce(context, companyId, spender, input)
      if (answer !== null) return answer
    }
    throw busyChargeError(input.id ?? "")
  },
})

/** Charges, unless the id was ever charged; null where it must be looked for again. */
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
    const { item, state, given_back_micros: givenBackMicros } = row
    const found = chargeResult(companyId, chargeId, false, -row.amount_micros, fundsMicros)
    return { ...found, item, state, givenBackMicros }
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
      // The price was named from outside: it is of no version of the price book.
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
    // As of every no, its evidence is kept: an auditor may ask for it.
    if (outcome.refusal.type === "ChargeRefused") ports.storeRefusal(companyId, outcome.refusal)
    throw toOperatorRefused(outcome.refusal)
  }
  // Charged in the same moment by somebody else: what it came to is found by looking.
  if (outcome.facts.length === 0) return null
  return chargeResult(companyId, chargeId, true, amountMicros, outcome.view.fundsMicros)
}

/** @throws OperatorRefused where something else was charged under this id */
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
    `Charge ${chargeId} is recorded with another ${others.join(", ")}; ` +
    "nothing was charged. Use a new id for it."
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

/** Others change this charge all the time: nothing was done. */
function busyChargeError(chargeId: ChargeId): OperatorRefused {
  const message = `Charge ${chargeId} could not be settled: something else changes it; try again.`
  return new OperatorRefused("conflict", message)
}

/** A part ends an open charge: where its work fails afterwards, nothing more would come back. */
function pendingChargeError(chargeId: ChargeId): OperatorRefused {
  const message =
    `Charge ${chargeId} is open: its work may still fail, and then all of it comes back by itself. ` +
    "Give a part back once it is final."
  return new OperatorRefused("conflict", message)
}

/** The no to a charge, in the words and the body of the API. */
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
  summary: "give a charge back, whole or in part, once: an operator's correction",
  notes: [
    "--reason is required: it is part of the fact, for auditors.",
    "Of an open charge no part is given back: all of it comes back where its work fails.",
    DOLLARS_NOTE,
  ],
  example: 'charge refund chg_5cW1 --reason "charged for a test"',
  changes: true,
  needsReason: true,
  input: z.object({
    chargeId: chargeIdArgument,
    dollars: dollarsInput.optional().meta({ description: "only so much of it" }),
    company: chargeCompanyOption,
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async (context, { chargeId, company: named, dollars: part }) => {
    const { ports, cause } = context
    const { reason } = cause
    if (reason === null) {
      throw new OperatorRefused("validation", "Say why it is given back, with --reason.")
    }
    await waitForOwnWrites(ports)
    const companyId =
      named === undefined ? await companyOfCharge(ports, chargeId) : await findCompany(ports, named)
    for (let looks = 0; looks < MAX_LOOKUPS; looks += 1) {
      context.signal.throwIfAborted()
      const found = await lookUpCharge(ports, companyId, chargeId)
      const { row, searchedTo } = found
      if (row === null) throw await chargeNotFound(ports, chargeId)
      const whole = -row.amount_micros
      if (row.given_back_micros > 0) throw alreadyRefundedError(chargeId, row)
      if (row.state === "open" && part !== undefined) throw pendingChargeError(chargeId)
      if (whole === 0) throw new OperatorRefused("conflict", `Charge ${chargeId} cost nothing.`)
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
        const givenBackMicros = part ?? whole
        return { companyId, chargeId, givenBackMicros, balanceMicros: outcome.view.fundsMicros }
      }
      // It ended in the same moment, or too much happened meanwhile: look again.
      if (outcome.accepted) continue
      const { refusal } = outcome
      if (refusal.type === "LedgerRefused" && refusal.code === "search_again") continue
      throw toOperatorRefused(refusal)
    }
    throw busyChargeError(chargeId)
  },
})

function alreadyRefundedError(chargeId: ChargeId, row: ChargeRow): OperatorRefused {
  const back = formatMoney(row.given_back_micros)
  const message = `Of charge ${chargeId}, ${back} was given back already; there is no second time.`
  return new OperatorRefused("conflict", message, { givenBackMicros: row.given_back_micros })
}

const listPending = operation({
  name: "charge pending",
  summary: "list charges whose work is not known to have ended, oldest first",
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

/** Operations on charges. */
export const chargeChangeOperations: readonly AdminOperation[] = [
  charge,
  refundOperation,
  listPending,
]
