/**
 * Read model `apps`: the installed apps of a company: what each said day by day, and how the updates
 * of its devices stand.
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { AppCheckedIn, Counts, DeviceReported } from "../../domain/connection/app-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { readModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { bigint, instant, json, orNull, text, madeOf, table } from "../kernel/table.ts"

const CHECK_INS = table(
  "check_ins",
  {
    company_id: text<CompanyId>(),
    install_id: text(),
    /** `YYYY-MM-DD`. */
    day: text(),
    version: text(),
    platform: orNull(text()),
    seal: orNull(text()),
    counts: json<Counts>(),
    checked_in_at: instant(),
  },
  ["company_id", "install_id", "day"],
)

/** What an app said last on a UTC day. */
export type CheckInRow = RowOf<typeof CHECK_INS>

const DEVICES = table(
  "devices",
  {
    company_id: text<CompanyId>(),
    install_id: text(),
    kind: text<DeviceReported["kind"]>(),
    attempt_id: text(),
    /** Counted by the device. */
    sequence: bigint(),
    version: text(),
    status: text<DeviceReported["status"]>(),
    reason: orNull(text<NonNullable<DeviceReported["reason"]>>()),
    reported_at: instant(),
  },
  ["company_id", "install_id", "kind"],
)

/** How the last update of an app, or of its launcher, stands. */
export type DeviceRow = RowOf<typeof DEVICES>

type Tables = RowsOf<typeof CHECK_INS | typeof DEVICES>

declare module "../kernel/table.ts" {
  interface ReadTables extends RowsOf<typeof CHECK_INS | typeof DEVICES> {}
}

/** The read model. */
export const apps = readModel({
  name: "apps",
  version: 2,
  on: ["AppCheckedIn", "DeviceReported"],
  ...madeOf(CHECK_INS, DEVICES),
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
  const said = {
    version,
    platform,
    seal: coreHash,
    counts: sql<Counts>`${JSON.stringify(counts)}::jsonb`,
  }
  const row = { ...said, checked_in_at }
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

/** A report that comes late never moves the status back. */
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

/** What each installed app of a company said last, by install id. */
export async function lastCheckIns(
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

/** How the updates of a company's apps stand, by install id and kind. */
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
