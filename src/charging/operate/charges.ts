/** Charges as an operator lists and shows them. */
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

/** The charge that is meant, by the word behind the command. */
export const chargeIdArgument = idInput.meta({
  description: "the charge, by id",
  argument: "CHARGE_ID",
})

/** Which company's, where the id alone does not say it. */
export const chargeCompanyOption = companyInput
  .optional()
  .meta({ description: "the company, where several have such a charge" })

const list = operation({
  name: "charge list",
  summary: "list a company's charges, newest first",
  notes: [
    "A month is UTC, by the time of the charge. An item goes by its name in the price book or on the bill.",
    DOLLARS_NOTE,
  ],
  example: "charge list --company acme --month 2026-11 --item text_segment",
  input: z.object({
    company: companyInput,
    month: monthInput.optional().meta({ description: "only of this month, as YYYY-MM" }),
    ...chargeFilterOptions,
    resource: z.string().optional().meta({
      description: "only of this thing, such as a box or a message, by its id",
    }),
    before: z.int().nonnegative().optional().meta({ description: "only earlier ones" }),
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
      // One more than is shown says whether there are more.
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

/** The first instant of a month, and that of the next. */
function monthRange(name: string): readonly [Date, Date] {
  const from = Date.parse(`${name}-01T00:00:00.000Z`)
  return [new Date(from), new Date(monthEnd(from))]
}

/** A charge as it is listed and shown. */
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
    state: row.state,
    givenBackMicros: row.given_back_micros,
  }
}

/** The input, where the charge that it names is of somebody's own spending. */
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
  summary: "show all that is recorded of a charge, and what was given back of it",
  notes: [
    "State is open while its work can still fail, then final or given_back.",
    "Of an id that was charged again after it had come back, the newest charge is shown.",
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
    const giveBacks = lines.map(({ revision, at, amount_micros: amountMicros, note }) => {
      return { revision, at: at.toISOString(), amountMicros, reason: note }
    })
    return { companyId, ...toChargeView(row), giveBacks }
  },
  render: ({ giveBacks, ...charge }, page) => {
    const fields = renderFields(Object.entries(charge))
    if (giveBacks.length === 0) return fields
    return `${fields}\nGiven back:\n${renderTable(giveBacks, page, "give-backs")}`
  },
})

/** The only company with this charge. @throws OperatorRefused where there is none, or several */
export async function companyOfCharge(
  ports: Pick<AdminPorts, "readAll">,
  chargeId: ChargeId,
): Promise<CompanyId> {
  const [first, second] = await companiesOfCharge(ports.readAll, chargeId)
  if (first === undefined) throw await chargeNotFound(ports, chargeId)
  if (second === undefined) return first
  const message = `Several companies have a charge ${chargeId}: name one with --company.`
  throw new OperatorRefused("validation", message)
}

/** There is no such charge; whether it was refused is said, for whoever holds the id of an answer. */
export async function chargeNotFound(
  ports: Pick<AdminPorts, "readAll">,
  chargeId: ChargeId,
): Promise<OperatorRefused> {
  const [refused] = await companiesOfRefusal(ports.readAll, chargeId)
  const why = refused === undefined ? "" : ` It was refused: look among the refusals of ${refused}.`
  return new OperatorRefused("not_found", `There is no charge ${chargeId}.${why}`)
}

/** Operations that show charges. */
export const chargeOperations: readonly AdminOperation[] = [list, show]
