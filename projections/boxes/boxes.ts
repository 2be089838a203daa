/** Read model `boxes`: a company's boxes with status and cost. */
import type { Kysely, Transaction } from "kysely"
import type { BoxStopReason } from "../../domain/boxes/box-events.ts"
import type { BoxStatus } from "../../domain/boxes/box.ts"
import type { BoxSize } from "../../domain/boxes/box-size.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { CompanyFact, FactOfType, Unsealer } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  booleanColumn,
  instantColumn,
  integerColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"

const BOXES = defineTable(
  "boxes",
  {
    company_id: textColumn<CompanyId>(),
    box_id: textColumn<BoxId>(),
    key_id: textColumn<KeyId>(),
    person_id: textColumn<PersonId>(),
    size: textColumn<BoxSize>(),
    branch: nullableColumn(textColumn()),
    label: nullableColumn(textColumn()),
    status: textColumn<BoxStatus>(),
    stop_reason: nullableColumn(textColumn<BoxStopReason>()),
    created_at: instantColumn(),
    running_at: nullableColumn(instantColumn()),
    stopped_at: nullableColumn(instantColumn()),
    max_minutes: integerColumn(),
    idle_minutes: integerColumn(),
    budget_micros: nullableColumn(bigintColumn()),
    unit_price_micros: bigintColumn(),
    minutes: integerColumn(),
    is_deleted: booleanColumn(),
  },
  ["company_id", "box_id"],
  "(company_id, created_at)",
)

/** A box; `branch` and `label` are null once erased. `minutes` are the charged ones. */
export type BoxRow = RowOf<typeof BOXES>

type Tables = RowsOf<typeof BOXES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof BOXES> {}
}

const ON = [
  "BoxStarted",
  "BoxRunning",
  "BoxFailed",
  "BoxMinuteStarted",
  "BoxMinuteRefused",
  "BoxStopped",
  "BoxDeleted",
] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `boxes`. */
export const boxesReadModel = defineReadModel({
  name: "boxes",
  version: 1,
  on: ON,
  ...tablesOf(BOXES),
  erased: { boxes: ["branch", "label"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const recorded of companyFacts(facts)) await applyOne(tx, recorded, opener)
  },
})

async function applyOne(
  tx: Transaction<Tables>,
  { fact, companyId }: CompanyFact<Handled>,
  opener: Unsealer,
): Promise<void> {
  const update = (changes: Partial<BoxRow>, boxId: BoxId) =>
    tx
      .updateTable("boxes")
      .set(changes)
      .where("company_id", "=", companyId)
      .where("box_id", "=", boxId)
      .execute()
  switch (fact.type) {
    case "BoxStarted": {
      const branch = await opener.unseal(companyId, fact.branch)
      const label = fact.label === null ? null : await opener.unseal(companyId, fact.label)
      const row = { ...fact, companyId, branch, label, status: "starting", createdAt: fact.at }
      const initial = { stopReason: null, runningAt: null, stoppedAt: null, isDeleted: false }
      await BOXES.insert(tx, [BOXES.rowOf({ ...row, ...initial, status: "starting", minutes: 1 })])
      return
    }
    case "BoxRunning":
      await update({ status: "running", running_at: new Date(fact.at) }, fact.boxId)
      return
    case "BoxFailed": {
      const failed = { status: "failed", stopped_at: new Date(fact.at), minutes: 0 } as const
      await update(failed, fact.boxId)
      return
    }
    case "BoxMinuteStarted":
      await update({ minutes: fact.minute }, fact.boxId)
      return
    case "BoxMinuteRefused":
      await update({ minutes: fact.minute - 1 }, fact.boxId)
      return
    case "BoxStopped": {
      const stopped = { status: "stopped", stop_reason: fact.reason } as const
      const stoppedAt = new Date(fact.effectiveAt ?? fact.at)
      await update({ ...stopped, stopped_at: stoppedAt }, fact.boxId)
      return
    }
    case "BoxDeleted":
      await update({ is_deleted: true }, fact.boxId)
      return
  }
}

/** Lists the newest boxes of a company that are not deleted, of one person or of all. */
export async function listBoxes(
  db: Kysely<Tables>,
  companyId: CompanyId,
  personId: PersonId | null,
  limit: number,
): Promise<readonly BoxRow[]> {
  const rows = db
    .selectFrom("boxes")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("is_deleted", "=", false)
    .orderBy("created_at", "desc")
    .orderBy("box_id", "desc")
    .limit(limit)
  return (personId === null ? rows : rows.where("person_id", "=", personId)).execute()
}

/** Finds a company's box, as a list; empty if there is none or it was deleted. */
export async function findCompanyBox(
  db: Kysely<Tables>,
  companyId: CompanyId,
  boxId: BoxId,
): Promise<readonly BoxRow[]> {
  return db
    .selectFrom("boxes")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("box_id", "=", boxId)
    .where("is_deleted", "=", false)
    .execute()
}

/** Finds a box of any company; null if there is none or it was deleted. For operators. */
export async function findBox(db: Kysely<Tables>, boxId: BoxId): Promise<BoxRow | null> {
  const found = db
    .selectFrom("boxes")
    .selectAll()
    .where("box_id", "=", boxId)
    .where("is_deleted", "=", false)
  return (await found.executeTakeFirst()) ?? null
}

/** Counts boxes by status, without deleted ones. */
export async function countBoxes(
  db: Kysely<Tables>,
): Promise<readonly { readonly status: BoxStatus; readonly count: number }[]> {
  const rows = await db
    .selectFrom("boxes")
    .select(["status", (eb) => eb.fn.countAll<string>().as("count")])
    .where("is_deleted", "=", false)
    .groupBy("status")
    .execute()
  return rows.map(({ status, count }) => ({ status, count: Number(count) }))
}
