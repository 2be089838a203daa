/** Read model `apps`: daily check-ins of a company's installed apps, and the updates of its devices. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { AppCheckedIn, AppCounts, DeviceReported } from "../../domain/connection/app-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  instantColumn,
  jsonColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const CHECK_INS = defineTable(
  "check_ins",
  {
    company_id: textColumn<CompanyId>(),
    install_id: textColumn(),
    day: textColumn(),
    version: textColumn(),
    platform: nullableColumn(textColumn()),
    seal: nullableColumn(textColumn()),
    counts: jsonColumn<AppCounts>(),
    checked_in_at: instantColumn(),
  },
  ["company_id", "install_id", "day"],
)

/** An app's last check-in of a UTC day. */
export type CheckInRow = RowOf<typeof CHECK_INS>

const DEVICES = defineTable(
  "devices",
  {
    company_id: textColumn<CompanyId>(),
    install_id: textColumn(),
    kind: textColumn<DeviceReported["kind"]>(),
    attempt_id: textColumn(),
    /** Counted by the device. */
    sequence: bigintColumn(),
    version: textColumn(),
    status: textColumn<DeviceReported["status"]>(),
    reason: nullableColumn(textColumn<NonNullable<DeviceReported["reason"]>>()),
    reported_at: instantColumn(),
  },
  ["company_id", "install_id", "kind"],
)

/** The last update of an app or its launcher. */
export type DeviceRow = RowOf<typeof DEVICES>

type Tables = RowsOf<typeof CHECK_INS | typeof DEVICES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof CHECK_INS | typeof DEVICES> {}
}

/** The read model `apps`. */
export const appsReadModel = defineReadModel({
  name: "apps",
  version: 2,
  on: ["AppCheckedIn", "DeviceReported"],
  ...tablesOf(CHECK_INS, DEVICES),
  erased: { check_ins: "rows", devices: "rows" },
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const { fact, companyId } of facts) {
      if (companyId === null) continue
      if (fact.type === "AppCheckedIn") await checkIn(tx, companyId, fact)
      if (fact.type === "DeviceReported") await report(tx, companyId, fact)
    }
  },
})

async function checkIn(
  tx: Transaction<Tables>,
  companyId: CompanyId,
  { installId: install_id, at, version, platform, coreHash, counts }: AppCheckedIn,
): Promise<void> {
  const checked_in_at = new Date(at)
  const checkInFields = {
    version,
    platform,
    seal: coreHash,
    counts: sql<AppCounts>`${JSON.stringify(counts)}::jsonb`,
  }
  const row = { ...checkInFields, checked_in_at }
  await tx
    .insertInto("check_ins")
    .values({
      company_id: companyId,
      install_id,
      day: checked_in_at.toISOString().slice(0, 10),
      ...row,
    })
    .onConflict((conflict) =>
      conflict.columns(["company_id", "install_id", "day"]).doUpdateSet(row),
    )
    .execute()
}

/** A late report never resets the status. */
async function report(
  tx: Transaction<Tables>,
  companyId: CompanyId,
  fact: DeviceReported,
): Promise<void> {
  const { installId: install_id, kind, attemptId: attempt_id, sequence } = fact
  const { version, status, reason, at } = fact
  const row = { attempt_id, sequence, version, status, reason, reported_at: new Date(at) }
  await tx
    .insertInto("devices")
    .values({ company_id: companyId, install_id, kind, ...row })
    .onConflict((conflict) =>
      conflict
        .columns(["company_id", "install_id", "kind"])
        .doUpdateSet(row)
        .where("devices.sequence", "<", sequence),
    )
    .execute()
}

/** Lists the last check-in of each installed app of a company, by install id. */
export async function listLastCheckIns(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly CheckInRow[]> {
  return db
    .selectFrom("check_ins")
    .selectAll()
    .distinctOn("install_id")
    .where("company_id", "=", companyId)
    .orderBy("install_id")
    .orderBy("day", "desc")
    .execute()
}

/** Lists the updates of a company's apps, by install id and kind. */
export async function listDevices(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly DeviceRow[]> {
  return db
    .selectFrom("devices")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("install_id")
    .orderBy("kind")
    .execute()
}
