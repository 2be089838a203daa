/**
 * What follows from facts, as rows for the workers: the one table of reactions and timers.
 *
 * A row is a hint that may come twice; the deciders have the last word. It is no read model: rows
 * go away when they are done, so it is never rebuilt. Payloads carry ids and sealed text only.
 */
import type { Transaction } from "kysely"
import { sql } from "kysely"
import { erasedFrom } from "../domain/charging/deletion.ts"
import type {
  ApiCallsCounted,
  Charged,
  LedgerFact,
  MonthClosed,
  ReminderReached,
} from "../domain/charging/ledger-events.ts"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { Micros } from "../domain/kernel/money.ts"
import { monthEnd, monthName } from "../domain/kernel/window.ts"
import type { TextQueued } from "../domain/phone/recipient-events.ts"
import type { Columns } from "./kernel/columns.ts"
import { arrayOf, insertRows } from "./kernel/columns.ts"
import type { Projection, Recorded } from "./kernel/projection.ts"

/** What a worker can be asked to do. */
export type WorkKind =
  | "open-company"
  | "send-text"
  | "ask-text"
  | "end-charge"
  | "close-month"
  | "charge-calls"
  | "send-reminder"
  | "pay-purchase"
  | "collect-credit"
  | "switch-keys"
  | "erase-company"

/** Something to be done. */
export interface WorkItem {
  readonly kind: WorkKind
  /** Unique within the kind: the same name again is the same work. */
  readonly name: string
  /** Work on one subject is done in order, one at a time. */
  readonly subject: string
  readonly companyId: CompanyId | null
  readonly payload: object
  /** By the ledger's clock, UTC milliseconds. */
  readonly dueAt: number
}

/** What `send-text` and `ask-text` need: nothing in it is readable without the recipient's key. */
export type TextWork = Pick<
  TextQueued,
  "messageId" | "chargeId" | "giveBackMicros" | "numberId" | "to" | "body"
> & { readonly stream: string; readonly queuedAt: number }

/** What `end-charge` needs. */
export type ChargeWork = Pick<Charged, "chargeId" | "item" | "resource"> & {
  readonly chargedAt: number
}

/** What `close-month` needs: the month that is over when it is due, `YYYY-MM`. */
export interface MonthWork {
  readonly month: string
}

/** What `charge-calls` needs: the first millisecond of the UTC day that is over when it is due. */
export interface CallsWork {
  readonly day: number
}

/** What `pay-purchase` needs. */
export type PurchaseWork = Pick<LedgerFact<"PurchaseStarted">, "purchaseId" | "amountMicros"> & {
  readonly startedAt: number
}

/** What `collect-credit` needs: what a company owed when the month was closed. */
export interface CreditWork {
  readonly month: string
  readonly owedMicros: Micros
  readonly closedAt: number
}

/** What `send-reminder` needs. */
export type ReminderWork = Omit<ReminderReached, "type">

/** An open charge that has no next fact after this long is looked into. */
const LOOK_INTO_AFTER_MS = 10 * 60_000
/** A purchase that is not paid by then is asked about: whoever began it may be gone. */
const ASK_AFTER_MS = 60_000
const DAY_MS = 86_400_000
/** The last calls of a day are recorded some seconds after it; nothing waits for their charge. */
const CHARGE_CALLS_AFTER_MS = 10 * 60_000

/** The rows that follow from facts. */
export const work: Projection = {
  name: "work",
  version: 1,
  categories: ["companies", "ledger", "recipient"],
  ignores: ["TextAccepted", "TextDelivered", "TextRejected", "TextUndelivered"],
  tables: [],
  create: "",
  apply: async (tx: Transaction<unknown>, facts) => {
    const items = new Map<string, WorkItem>()
    const ended: Ended[] = []
    for (const recorded of facts) {
      for (const item of itemsOf(recorded)) items.set(`${item.kind} ${item.name}`, item)
      for (const end of endedBy(recorded)) {
        if (!items.delete(`${end.kind} ${end.name}`)) ended.push(end)
      }
    }
    // What ended first: a charge of the same name may have begun anew after it.
    if (ended.length > 0) await deleteWork(tx, ended)
    if (items.size > 0) await insertWork(tx, [...items.values()])
  },
}

function itemsOf(recorded: Recorded): readonly WorkItem[] {
  const { fact, companyId } = recorded
  if (fact.type === "MonthClosed" && fact.fundsMicros < 0) {
    return [closeMonth(companyId, fact.at), collectCredit(companyId, fact)]
  }
  if (fact.type === "LedgerClosed") {
    return [switchKeys(recorded), eraseCompany(companyId, fact.at)]
  }
  const item = itemOf(recorded)
  return item === null ? [] : [item]
}

function itemOf(recorded: Recorded): WorkItem | null {
  const { fact, companyId, revision } = recorded
  switch (fact.type) {
    case "CompanyRegistered": {
      const { type: _type, at: dueAt, ...plan } = fact
      const name = fact.companyId
      const payload = { ...plan, place: revision, actor: recorded.actor }
      return { kind: "open-company", name, subject: name, companyId: name, payload, dueAt }
    }
    case "TextQueued":
      return sendText(recorded, fact)
    case "Charged":
      return fact.open ? endCharge(recorded, fact) : null
    case "PurchaseStarted":
      return payPurchase(companyId, fact)
    case "LedgerOpened":
    case "MonthClosed":
      return closeMonth(companyId, fact.at)
    case "ApiCallsCounted":
      return chargeCalls(companyId, fact)
    case "LedgerReopened":
      return switchKeys(recorded)
    case "ReminderReached": {
      const { type: _type, ...payload } = fact
      const name = `${companyId}:${revision}`
      return { kind: "send-reminder", name, subject: name, companyId, payload, dueAt: fact.at }
    }
    default:
      return null
  }
}

function sendText({ companyId, stream }: Recorded, fact: TextQueued): WorkItem {
  const { messageId, chargeId, giveBackMicros, numberId, to, body, at } = fact
  const text = { messageId, chargeId, giveBackMicros, numberId, to, body }
  const payload: TextWork = { stream, ...text, queuedAt: at }
  return { kind: "send-text", name: messageId, subject: stream, companyId, payload, dueAt: at }
}

function endCharge({ companyId }: Recorded, fact: Charged): WorkItem {
  const { chargeId, item, resource, at } = fact
  const payload: ChargeWork = { chargeId, item, resource, chargedAt: at }
  const dueAt = at + LOOK_INTO_AFTER_MS
  return { kind: "end-charge", name: chargeId, subject: chargeId, companyId, payload, dueAt }
}

function payPurchase(companyId: CompanyId | null, fact: LedgerFact<"PurchaseStarted">): WorkItem {
  const { purchaseId: name, amountMicros, at } = fact
  const payload: PurchaseWork = { purchaseId: name, amountMicros, startedAt: at }
  return {
    kind: "pay-purchase",
    name,
    subject: name,
    companyId,
    payload,
    dueAt: at + ASK_AFTER_MS,
  }
}

/**
 * The month of `at` is closed when it is over, for companies in which nothing happens by then; where
 * something does, its closing is recorded with it and this finds nothing to do.
 */
function closeMonth(companyId: CompanyId | null, at: number): WorkItem {
  const payload: MonthWork = { month: monthName(at) }
  const name = `${companyId}:${payload.month}`
  return { kind: "close-month", name, subject: name, companyId, payload, dueAt: monthEnd(at) }
}

function collectCredit(companyId: CompanyId | null, fact: MonthClosed): WorkItem {
  const { month, at, fundsMicros } = fact
  const payload: CreditWork = { month, owedMicros: -fundsMicros, closedAt: at }
  const name = `${companyId}:${month}`
  const subject = `${companyId} credit`
  return { kind: "collect-credit", name, subject, companyId, payload, dueAt: at }
}

function chargeCalls(companyId: CompanyId | null, { day }: ApiCallsCounted): WorkItem {
  const payload: CallsWork = { day }
  const name = `${companyId}:${new Date(day).toISOString().slice(0, 10)}`
  const dueAt = day + DAY_MS + CHARGE_CALLS_AFTER_MS
  return { kind: "charge-calls", name, subject: name, companyId, payload, dueAt }
}

/** The keys follow the deletion of their company, and its undoing, in order. */
function switchKeys({ companyId, revision, fact }: Recorded): WorkItem {
  const name = `${companyId}:${revision}`
  const subject = `${companyId} keys`
  return { kind: "switch-keys", name, subject, companyId, payload: {}, dueAt: fact.at }
}

function eraseCompany(companyId: CompanyId | null, closedAt: number): WorkItem {
  const name = String(companyId)
  const subject = `${name} erasure`
  const dueAt = erasedFrom(closedAt)
  return { kind: "erase-company", name, subject, companyId, payload: {}, dueAt }
}

/** Work that nobody waits for any more. */
type Ended = Pick<WorkItem, "kind" | "name">

function endedBy({ fact, companyId }: Recorded): readonly Ended[] {
  switch (fact.type) {
    case "ChargesClosed":
      return fact.chargeIds.map((name) => ({ kind: "end-charge", name }))
    case "ChargeGivenBack":
      return [{ kind: "end-charge", name: fact.chargeId }]
    case "LedgerReopened":
      return [{ kind: "erase-company", name: String(companyId) }]
    case "PurchasePaid":
    case "PurchaseFailed":
      return [{ kind: "pay-purchase", name: fact.purchaseId }]
    default:
      return []
  }
}

async function deleteWork(tx: Transaction<unknown>, ended: readonly Ended[]): Promise<void> {
  for (const kind of new Set(ended.map((one) => one.kind))) {
    const names = ended.filter((one) => one.kind === kind).map(({ name }) => name)
    await sql`
      delete from ledger.work
      where kind = ${kind} and name = any(${arrayOf("text", names)})`.execute(tx)
  }
}

interface WorkRow {
  readonly kind: WorkKind
  readonly name: string
  readonly subject: string
  readonly company_id: CompanyId | null
  readonly payload: string
  readonly due_at: Date
}

const WORK_COLUMNS: Columns<WorkRow> = {
  kind: "text",
  name: "text",
  subject: "text",
  company_id: "text",
  payload: "text",
  due_at: "timestamptz",
}

function rowOf({ kind, name, subject, companyId, payload, dueAt }: WorkItem): WorkRow {
  const [text, due_at] = [JSON.stringify(payload), new Date(dueAt)]
  return { kind, name, subject, company_id: companyId, payload: text, due_at }
}

/** Adds work; what is there already under the same kind and name stays as it is. */
async function insertWork(tx: Transaction<unknown>, items: readonly WorkItem[]): Promise<void> {
  const isThere = sql`on conflict (kind, name) do nothing`
  await insertRows(tx, "ledger.work", WORK_COLUMNS, items.map(rowOf), isThere)
}
