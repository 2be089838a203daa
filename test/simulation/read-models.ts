/** Read models as plain folds: rows in a map, gone through one fact after the other. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../projections/charging/charge-lines.ts"
import { lineOf } from "../../projections/charging/charge-lines.ts"
import type { Recorded } from "../../projections/kernel/projection.ts"
import { PROGRAM } from "../../src/slices.ts"

/** Rows by their key. */
export type Rows = Map<string, unknown>

/** The read models that are plain folds. */
export const PLAIN_MODELS = {
  charges: foldCharges,
  accounts: foldAccounts,
} as const satisfies Record<string, (rows: Rows, recorded: Recorded) => void>

/** The name of one of them. */
export type PlainModel = keyof typeof PLAIN_MODELS

/** Whether a read model is one of them. */
export const isPlain = (model: string): model is PlainModel => Object.hasOwn(PLAIN_MODELS, model)

/** Folds stored events into a read model's rows. */
export function fold(model: PlainModel, rows: Rows, events: readonly StoredEvent[]): void {
  for (const stored of events) PLAIN_MODELS[model](rows, PROGRAM.streams.recorded(stored))
}

/** The lines of the bill, and what became of each charge. */
function foldCharges(rows: Rows, { fact, companyId, revision }: Recorded): void {
  if (companyId === null) return
  const line = lineOf({ fact, companyId, revision })
  if (line !== null) rows.set(`${companyId} ${revision}`, line)
  if (fact.type === "ChargesClosed") {
    for (const chargeId of fact.chargeIds) {
      change(rows, companyId, chargeId, () => ({ state: "final" }))
    }
  }
  if (fact.type === "ChargeGivenBack") {
    change(rows, companyId, fact.chargeId, (charge) => {
      const given_back_micros = charge.given_back_micros + fact.amountMicros
      const isWhole = given_back_micros === -charge.amount_micros
      return { given_back_micros, state: isWhole ? "given_back" : "final" }
    })
  }
}

function change(
  rows: Rows,
  companyId: CompanyId,
  chargeId: string,
  changed: (charge: ChargeRow) => Partial<ChargeRow>,
): void {
  const charge = newestCharge(rows, companyId, chargeId)
  if (charge === null) return
  rows.set(`${companyId} ${charge.revision}`, { ...charge, ...changed(charge) })
}

/** The newest charge of an id; null where there is none. */
export function newestCharge(rows: Rows, companyId: CompanyId, chargeId: string): ChargeRow | null {
  let newest: ChargeRow | null = null
  for (const row of rows.values() as Iterable<ChargeRow>) {
    if (row.company_id !== companyId || row.charge_id !== chargeId) continue
    if (newest === null || row.revision > newest.revision) newest = row
  }
  return newest
}

/** The balance of each account, and how many facts there were: what a fact too much would show in. */
function foldAccounts(rows: Rows, { fact, companyId, category }: Recorded): void {
  const add = (name: string, amount: number): void => {
    const key = `${companyId} ${name}`
    rows.set(key, ((rows.get(key) as number | undefined) ?? 0) + amount)
  }
  add(`facts of ${category}`, 1)
  if (category !== "ledger") return
  for (const { account, amountMicros } of postingsOf(fact as LedgerEvent))
    add(account, amountMicros)
}

/** Rows as text that is equal for equal rows. */
export function showRows(rows: Rows): string {
  return JSON.stringify([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
