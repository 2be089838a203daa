/** Read model `keys`: each key's company, person, label and status. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { monthStart } from "../../domain/kernel/window.ts"
import type { ChargeDayTables } from "../charging/charge-days.ts"
import type { SpendingTables } from "../charging/spending.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  instantColumn,
  nullableColumn,
  textColumn,
  textArrayColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const KEYS = defineTable(
  "keys",
  {
    company_id: textColumn<CompanyId>(),
    key_id: textColumn<KeyId>(),
    person_id: nullableColumn(textColumn<PersonId>()),
    label: nullableColumn(textColumn()),
    operations: textArrayColumn(),
    /** `switched_off`: its company was deleted; `leaked`: found in a push and disabled permanently. */
    status: textColumn<"active" | "paused" | "switched_off" | "leaked" | "deleted">(),
    created_at: instantColumn(),
  },
  ["key_id"],
  "(company_id)",
)

/** A key; `label` is null if it has none or it was erased. */
export type KeyRow = RowOf<typeof KEYS>

type Tables = RowsOf<typeof KEYS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof KEYS> {}
}

/** The read model `keys`. */
export const keysReadModel = defineReadModel({
  name: "keys",
  version: 2,
  on: [
    "KeyCreated",
    "KeyOperationsChanged",
    "KeyPaused",
    "KeyResumed",
    "KeyDeleted",
    "KeyLeaked",
    "KeySwitchedOff",
    "KeySwitchedOn",
  ],
  ...tablesOf(KEYS),
  erased: { keys: ["label"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of facts) {
      if (companyId === null) continue
      if (fact.type === "KeyCreated") {
        const label = fact.label === null ? null : await opener.unseal(companyId, fact.label)
        await tx
          .insertInto("keys")
          .values(KEYS.rowOf({ ...fact, companyId, label, status: "active", createdAt: fact.at }))
          .execute()
      }
      if (fact.type === "KeyOperationsChanged") {
        const { keyId, operations } = fact
        await tx.updateTable("keys").set({ operations }).where("key_id", "=", keyId).execute()
      }
      if (fact.type === "KeyPaused") await setStatus(tx, fact.keyId, "paused")
      if (fact.type === "KeyResumed") await setStatus(tx, fact.keyId, "active")
      if (fact.type === "KeyDeleted") await setStatus(tx, fact.keyId, "deleted")
      if (fact.type === "KeyLeaked") await setStatus(tx, fact.keyId, "leaked")
      if (fact.type === "KeySwitchedOff") await setStatus(tx, fact.keyId, "switched_off")
      if (fact.type === "KeySwitchedOn") await setStatus(tx, fact.keyId, "active")
    }
  },
})

async function setStatus(
  tx: Transaction<Tables>,
  keyId: KeyId,
  status: KeyRow["status"],
): Promise<void> {
  await tx.updateTable("keys").set({ status }).where("key_id", "=", keyId).execute()
}

/** Returns the company of a key; null if there is no such key. */
export async function companyOfKey(db: Kysely<Tables>, keyId: KeyId): Promise<CompanyId | null> {
  const row = await db
    .selectFrom("keys")
    .select("company_id")
    .where("key_id", "=", keyId)
    .executeTakeFirst()
  return row?.company_id ?? null
}

/** Lists a company's keys, oldest first. */
export async function listKeys(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly KeyRow[]> {
  return db
    .selectFrom("keys")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("created_at")
    .orderBy("key_id")
    .execute()
}

/** A key with its last use and spending; null and 0 if it was never used. */
type KeyWithUsage = KeyRow & {
  readonly last_used_at: Date | null
  readonly spent_micros: Micros
}

/** Lists a company's keys, oldest first, with the spending of each in the UTC month that contains `at` (milliseconds). */
export async function listKeysWithUsage(
  db: Kysely<Tables & ChargeDayTables & SpendingTables>,
  companyId: CompanyId,
  at: number,
): Promise<readonly KeyWithUsage[]> {
  return db
    .selectFrom("keys")
    .leftJoin("key_uses", (join) =>
      join
        .onRef("key_uses.company_id", "=", "keys.company_id")
        .onRef("key_uses.key_id", "=", "keys.key_id"),
    )
    .leftJoin("spending", (join) =>
      join
        .onRef("spending.company_id", "=", "keys.company_id")
        .on("spending.holder", "=", "key")
        .onRef("spending.holder_id", "=", "keys.key_id")
        .on("spending.period", "=", "month")
        .on("spending.window_start", "=", monthStart(at)),
    )
    .selectAll("keys")
    .select(["key_uses.last_used_at", sql<Micros>`coalesce(spent_micros, 0)`.as("spent_micros")])
    .where("keys.company_id", "=", companyId)
    .orderBy("created_at")
    .orderBy("keys.key_id")
    .execute()
}
