/**
 * What follows from facts, as rows for the workers: the one table of reactions and timers.
 *
 * A row is a hint that may come twice; the deciders have the last word. It is no read model: rows
 * go away when they are done, so it is never rebuilt. Payloads carry ids and sealed text only.
 */
import type { Transaction } from "kysely"
import { sql } from "kysely"
import type { Charged } from "../domain/charging/ledger-events.ts"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { TextQueued } from "../domain/phone/recipient-events.ts"
import type { Projection, Recorded } from "./projection.ts"

/** What a worker can be asked to do. */
export type WorkKind = "open-company" | "send-text" | "ask-text" | "end-charge"

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

/** An open charge that has no next fact after this long is looked into. */
const LOOK_INTO_AFTER_MS = 10 * 60_000

/** The rows that follow from facts. */
export const work: Projection = {
  name: "work",
  version: 1,
  categories: ["companies", "ledger", "recipient"],
  tables: [],
  create: "",
  apply: async (tx: Transaction<unknown>, facts) => {
    const items = new Map<string, WorkItem>()
    const ended: string[] = []
    for (const recorded of facts) {
      const item = itemOf(recorded)
      if (item !== null) items.set(`${item.kind} ${item.name}`, item)
      for (const chargeId of endedBy(recorded)) {
        if (!items.delete(`end-charge ${chargeId}`)) ended.push(chargeId)
      }
    }
    // What ended first: a charge of the same name may have begun anew after it.
    if (ended.length > 0) {
      await sql`
        delete from ledger.work where kind = 'end-charge' and name = any(${ended}::text[])`.execute(
        tx,
      )
    }
    if (items.size > 0) await insertWork(tx, [...items.values()])
  },
}

function itemOf({ fact, companyId, stream, revision }: Recorded): WorkItem | null {
  if (fact.type === "CompanyRegistered") {
    const { type: _type, at, ...plan } = fact
    const name = fact.companyId
    const payload = { ...plan, place: revision }
    return { kind: "open-company", name, subject: name, companyId: name, payload, dueAt: at }
  }
  if (fact.type === "TextQueued") {
    const { messageId, chargeId, giveBackMicros, numberId, to, body, at } = fact
    const payload: TextWork = {
      stream,
      messageId,
      chargeId,
      giveBackMicros,
      numberId,
      to,
      body,
      queuedAt: at,
    }
    return { kind: "send-text", name: messageId, subject: stream, companyId, payload, dueAt: at }
  }
  if (fact.type === "Charged" && fact.open) {
    const { chargeId, item, resource, at } = fact
    const payload: ChargeWork = { chargeId, item, resource, chargedAt: at }
    const dueAt = at + LOOK_INTO_AFTER_MS
    return { kind: "end-charge", name: chargeId, subject: chargeId, companyId, payload, dueAt }
  }
  return null
}

function endedBy({ fact }: Recorded): readonly string[] {
  if (fact.type === "ChargesClosed") return fact.chargeIds
  if (fact.type === "ChargeGivenBack") return [fact.chargeId]
  return []
}

/** Adds work; what is there already under the same kind and name stays as it is. */
async function insertWork(tx: Transaction<unknown>, items: readonly WorkItem[]): Promise<void> {
  await sql`
    insert into ledger.work (kind, name, subject, company_id, payload, due_at)
    select * from unnest(
      ${items.map((item) => item.kind)}::text[],
      ${items.map((item) => item.name)}::text[],
      ${items.map((item) => item.subject)}::text[],
      ${items.map((item) => item.companyId)}::text[],
      ${items.map((item) => JSON.stringify(item.payload))}::text[],
      ${items.map((item) => new Date(item.dueAt))}::timestamptz[])
    on conflict (kind, name) do nothing`.execute(tx)
}
