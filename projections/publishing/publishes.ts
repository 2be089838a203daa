/** Read model `publishes`: a company's publishes with their status. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { PublishFailReason } from "../../domain/publishing/publish-events.ts"
import type { PublishStatus } from "../../domain/publishing/publishing.ts"
import type { CompanyFact, FactOfType, Unsealer } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  instantColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"

const PUBLISHES = defineTable(
  "publishes",
  {
    company_id: textColumn<CompanyId>(),
    publish_id: textColumn<PublishId>(),
    revision: bigintColumn(),
    person_id: textColumn<PersonId>(),
    key_id: textColumn<KeyId>(),
    commit: textColumn(),
    status: textColumn<PublishStatus>(),
    reason: nullableColumn(textColumn<PublishFailReason>()),
    error: nullableColumn(textColumn()),
    created_at: instantColumn(),
    finished_at: nullableColumn(instantColumn()),
  },
  ["company_id", "publish_id"],
  "(company_id, revision)",
)

/** A publish; `error` is null once erased. */
export type PublishRow = RowOf<typeof PUBLISHES>

type Tables = RowsOf<typeof PUBLISHES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof PUBLISHES> {}
}

const ON = [
  "PublishQueued",
  "PublishRetried",
  "BuildStarted",
  "BuildFinished",
  "ArtifactStored",
  "PublishLive",
  "PublishReplaced",
  "PublishFailed",
] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `publishes`. */
export const publishesReadModel = defineReadModel({
  name: "publishes",
  version: 1,
  on: ON,
  ...tablesOf(PUBLISHES),
  erased: { publishes: ["error"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const recorded of companyFacts(facts)) await applyOne(tx, recorded, opener)
  },
})

async function applyOne(
  tx: Transaction<Tables>,
  { fact, companyId, revision }: CompanyFact<Handled>,
  opener: Unsealer,
): Promise<void> {
  const update = (publishId: PublishId, changes: Partial<PublishRow>) =>
    tx
      .updateTable("publishes")
      .set(changes)
      .where("company_id", "=", companyId)
      .where("publish_id", "=", publishId)
      .execute()
  switch (fact.type) {
    case "PublishQueued": {
      const initial = { status: "queued", reason: null, error: null, finishedAt: null } as const
      const row = { ...fact, ...initial, companyId, revision, createdAt: fact.at }
      await PUBLISHES.insert(tx, [PUBLISHES.rowOf(row)])
      return
    }
    case "PublishRetried": {
      const requeued = { status: "queued", reason: null, error: null, finished_at: null } as const
      await update(fact.publishId, requeued)
      return
    }
    case "BuildStarted":
      await update(fact.publishId, { status: "building" })
      return
    case "BuildFinished":
    case "ArtifactStored":
      await update(fact.publishId, { status: "uploading" })
      return
    case "PublishLive":
      await update(fact.publishId, { status: "live", finished_at: new Date(fact.at) })
      return
    case "PublishReplaced": {
      // A live publish already has its end.
      const ended = fact.wasLive ? {} : { finished_at: new Date(fact.at) }
      await update(fact.publishId, { status: "replaced", ...ended })
      return
    }
    case "PublishFailed": {
      const { reason, publishId } = fact
      const error = await opener.unseal(companyId, fact.error)
      await update(publishId, { status: "failed", reason, error, finished_at: new Date(fact.at) })
      return
    }
  }
}

/** Lists a company's newest publishes. */
export async function listPublishes(
  db: Kysely<Tables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly PublishRow[]> {
  return db
    .selectFrom("publishes")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("revision", "desc")
    .limit(limit)
    .execute()
}

/** Finds a publish of a company; null if there is none. */
export async function findCompanyPublish(
  db: Kysely<Tables>,
  companyId: CompanyId,
  publishId: PublishId,
): Promise<PublishRow | null> {
  const found = db
    .selectFrom("publishes")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("publish_id", "=", publishId)
  return (await found.executeTakeFirst()) ?? null
}

/** Finds a publish of any company; null if there is none. For operators. */
export async function findPublish(
  db: Kysely<Tables>,
  publishId: PublishId,
): Promise<PublishRow | null> {
  const found = db.selectFrom("publishes").selectAll().where("publish_id", "=", publishId)
  return (await found.executeTakeFirst()) ?? null
}

/** Counts publishes by status. */
export async function countPublishes(
  db: Kysely<Tables>,
): Promise<readonly { readonly status: PublishStatus; readonly count: number }[]> {
  const rows = await db
    .selectFrom("publishes")
    .select(["status", (eb) => eb.fn.countAll<string>().as("count")])
    .groupBy("status")
    .execute()
  return rows.map(({ status, count }) => ({ status, count: Number(count) }))
}
