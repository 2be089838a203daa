/** Operations that list and show charges. */
import { z } from "zod"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import { resourceId } from "../../../domain/kernel/resource.ts"
import { monthEnd } from "../../../domain/kernel/window.ts"
import { listRefundsOf, listCharges } from "../../../projections/charging/charge-queries.ts"
import type { ChargeRow } from "../../../projections/charging/charges.ts"
import { companiesOfCharge, findCharge } from "../../../projections/charging/charges.ts"
import { companiesOfRefusal } from "../../../projections/charging/refusals.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import {
  companyInput,
  DOLLARS_NOTE,
  findCompany,
  listLimitInput,
  monthInput,
  renderList,
  waitForOwnWrites,
  idInput,
} from "../../frame/operator/inputs.ts"
import type {
  ConsoleAccessRequest,
  AdminOperation,
  AdminPorts,
} from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { toChargeFilter, limitToOwnSpending, chargeFilterOptions } from "./charge-days.ts"

export const chargeIdArgument = idInput.meta({
  description: "the charge, by id",
  argument: "CHARGE_ID",
})

/** The company of a charge, if the id alone is ambiguous. */
export const chargeCompanyOption = companyInput
  .optional()
  .meta({ description: "the company, if several have a charge with this id" })

const list = operation({
  name: "charge list",
  summary: "list a company's charges, newest first",
  notes: [
    "A month is UTC, by the time of the charge. Name an item as in the price book or on the bill.",
    DOLLARS_NOTE,
  ],
  example: "charge list --company acme --month 2026-11 --item text_segment",
  input: z.object({
    company: companyInput,
    month: monthInput.optional().meta({ description: "only of this month, as YYYY-MM" }),
    ...chargeFilterOptions,
    resource: z.string().optional().meta({
      description: "only charges of this resource, such as a box or a message, by its id",
    }),
    before: z
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "only charges before this revision" }),
    limit: listLimitInput,
  }),
  consoleAccess: { permission: "See billing", ownInput: limitToOwnSpending },
  run: async ({ ports }, { before = null, limit, resource = null, ...input }) => {
    const companyId = await findCompany(ports, input.company)
    await waitForOwnWrites(ports)
    const rows = await listCharges(ports.readAll, {
      companyId,
      within: input.month === undefined ? null : monthRange(input.month),
      ...(await toChargeFilter(ports, companyId, input)),
      resource,
      before,
      // One more than is shown, to find out whether there are more.
      limit: limit + 1,
    })
    const charges = rows.slice(0, limit).map(toChargeView)
    return { charges, next: rows.length > limit ? (charges.at(-1)?.revision ?? null) : null }
  },
  render: ({ charges, next }, page) => {
    const rows = charges.map(({ revision, at, chargeId, item, quantity, ...charge }) => {
      const { amountMicros, state, keyId, personId } = charge
      return { revision, at, chargeId, item, quantity, amountMicros, state, keyId, personId }
    })
    return renderList(rows, next, page, "charges")
  },
})

const READ_MODEL_WAIT_MS = 5_000

/** The first instant of a month, and that of the next month. */
function monthRange(name: string): readonly [Date, Date] {
  const from = Date.parse(`${name}-01T00:00:00.000Z`)
  return [new Date(from), new Date(monthEnd(from))]
}

const CHARGE_STATES = { open: "pending", final: "settled", given_back: "refunded" } as const

/** Names the stored state of a charge in answers: pending, settled or refunded. */
export function chargeStateText(state: ChargeRow["state"]) {
  return state === null ? null : CHARGE_STATES[state]
}

/** Converts the row of a charge to its answer. */
function toChargeView(row: ChargeRow) {
  return {
    revision: row.revision,
    at: row.at.toISOString(),
    chargeId: row.charge_id,
    kind: row.kind,
    item: row.item,
    quantity: row.quantity,
    unitPriceMicros: row.unit_price_micros,
    priceVersion: row.price_version,
    amountMicros: 0 - row.amount_micros,
    class: row.class,
    via: row.via,
    keyId: row.key_id,
    personId: row.person_id,
    resource: row.resource === null ? null : resourceId(row.resource),
    servedFrom: row.served_from?.toISOString() ?? null,
    state: chargeStateText(row.state),
    refundedMicros: row.given_back_micros,
  }
}

/** Allows the input if the charge is the caller's own spending. */
async function limitToOwnCharge<I extends { readonly chargeId: string }>({
  input,
  person,
  companyId,
  ports,
}: ConsoleAccessRequest<I>): Promise<I | null> {
  await ports.projector.waitUntilWritten(await ports.store.head(), READ_MODEL_WAIT_MS, ["charges"])
  const row = await findCharge(ports.readAll, companyId, input.chargeId)
  return row?.person_id === person.personId ? input : null
}

const show = operation({
  name: "charge show",
  summary: "show everything recorded about a charge, and its refunds",
  notes: [
    "The state is pending while its work can still fail, then settled or refunded.",
    "If an id was charged again after a refund, the newest charge is shown.",
    DOLLARS_NOTE,
  ],
  example: "charge show chg_5cW1",
  input: z.object({ chargeId: chargeIdArgument, company: chargeCompanyOption }),
  consoleAccess: { permission: "See billing", ownInput: limitToOwnCharge },
  run: async ({ ports }, { chargeId, company: named }) => {
    await waitForOwnWrites(ports)
    const companyId =
      named === undefined ? await companyOfCharge(ports, chargeId) : await findCompany(ports, named)
    const row = await findCharge(ports.readAll, companyId, chargeId)
    if (row === null) throw await chargeNotFound(ports, chargeId)
    const lines = await listRefundsOf(ports.readAll, companyId, chargeId, row.revision)
    const refunds = lines.map(({ revision, at, amount_micros: amountMicros, note }) => {
      return { revision, at: at.toISOString(), amountMicros, reason: note }
    })
    return { companyId, ...toChargeView(row), refunds }
  },
  render: ({ refunds, ...charge }, page) => {
    const fields = renderFields(Object.entries(charge))
    if (refunds.length === 0) return fields
    return `${fields}\nRefunds:\n${renderTable(refunds, page, "refunds")}`
  },
})

/**
 * Finds the only company with this charge.
 *
 * @throws OperatorRefused if there is none, or several
 */
export async function companyOfCharge(
  ports: Pick<AdminPorts, "readAll">,
  chargeId: ChargeId,
): Promise<CompanyId> {
  const [first, second] = await companiesOfCharge(ports.readAll, chargeId)
  if (first === undefined) throw await chargeNotFound(ports, chargeId)
  if (second === undefined) return first
  const message = `Several companies have a charge ${chargeId}. Choose one with --company.`
  throw new OperatorRefused("validation", message)
}

/**
 * Builds the error for an unknown charge; it says if the charge was rejected and where its refusal
 * is.
 */
export async function chargeNotFound(
  ports: Pick<AdminPorts, "readAll">,
  chargeId: ChargeId,
): Promise<OperatorRefused> {
  const [refused] = await companiesOfRefusal(ports.readAll, chargeId)
  const hint =
    refused === undefined ? "" : ` It was rejected: see "refusals list --company ${refused}".`
  return new OperatorRefused("not_found", `There is no charge ${chargeId}.${hint}`)
}

export const chargeOperations: readonly AdminOperation[] = [list, show]
