/** Read model `dns-records`: the served zones, from which the name server answers. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { RecordSource, RecordType, Zone } from "../../domain/domains/dns-records.ts"
import type {
  DomainFact,
  StoredZoneRecord,
  DomainId,
  RecordId,
} from "../../domain/domains/domain-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { FactOfType, ProjectedFact } from "../kernel/projection.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  booleanColumn,
  integerColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
  textArrayColumn,
} from "../kernel/table.ts"
import type { ConnectedDomainIds } from "./domains.ts"
import { connectedDomainOf } from "./domains.ts"

const ZONES = defineTable(
  "dns_zones",
  {
    company_id: textColumn<CompanyId>(),
    domain_id: textColumn<DomainId>(),
    apex: textColumn(),
    name_servers: textArrayColumn(),
    serial: bigintColumn(),
    /** See `servedZoneOf` of the domain rules. */
    is_served: booleanColumn(),
  },
  ["company_id", "domain_id"],
  "(apex)",
)

const RECORDS = defineTable(
  "dns_records",
  {
    company_id: textColumn<CompanyId>(),
    domain_id: textColumn<DomainId>(),
    record_id: textColumn<RecordId>(),
    type: textColumn<RecordType>(),
    name: textColumn(),
    content: textColumn(),
    priority: nullableColumn(integerColumn()),
    ttl: integerColumn(),
    source: textColumn<RecordSource>(),
  },
  ["company_id", "domain_id", "record_id"],
)

type Tables = RowsOf<typeof ZONES | typeof RECORDS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof ZONES | typeof RECORDS> {}
}

const ON = [
  "DomainConnected",
  "DelegationSeen",
  "RecordsCopied",
  "RecordAdded",
  "RecordUpdated",
  "RecordRemoved",
  "SendingDomainAdded",
  "AppAddressSaved",
  "DomainRemoved",
  "DomainReleased",
] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `dns-records`. */
export const dnsRecordsReadModel = defineReadModel({
  name: "dns-records",
  version: 1,
  on: ON,
  ...tablesOf(ZONES, RECORDS),
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const recorded of facts) await applyOne(tx, recorded)
  },
})

async function applyOne(tx: Transaction<Tables>, recorded: ProjectedFact<Handled>): Promise<void> {
  const { fact } = recorded
  const ids = connectedDomainOf(recorded)
  if (ids === null) return
  switch (fact.type) {
    case "DomainConnected":
      return connect(tx, ids, fact)
    case "DelegationSeen": {
      const isServed = !fact.isElsewhere || fact.status === "live"
      await tx
        .updateTable("dns_zones")
        .set({ is_served: isServed })
        .where("company_id", "=", ids.companyId)
        .where("domain_id", "=", ids.domainId)
        .execute()
      return
    }
    case "RecordsCopied":
      return change(tx, ids, fact.records)
    case "RecordAdded":
    case "RecordUpdated":
      return change(tx, ids, [fact.record])
    case "RecordRemoved":
      return change(tx, ids, [], [fact.recordId])
    case "SendingDomainAdded":
    case "AppAddressSaved":
      return change(tx, ids, fact.records, fact.replaced)
    case "DomainRemoved":
    case "DomainReleased":
      for (const name of ["dns_records", "dns_zones"] as const) {
        await tx
          .deleteFrom(name)
          .where("company_id", "=", ids.companyId)
          .where("domain_id", "=", ids.domainId)
          .execute()
      }
      return
  }
}

async function connect(
  tx: Transaction<Tables>,
  ids: ConnectedDomainIds,
  { name: apex, nameServers }: DomainFact<"DomainConnected">,
): Promise<void> {
  const zone = { ...ids, apex, nameServers, serial: 1, isServed: true }
  await tx.insertInto("dns_zones").values(ZONES.rowOf(zone)).execute()
}

async function change(
  tx: Transaction<Tables>,
  ids: ConnectedDomainIds,
  records: readonly StoredZoneRecord[],
  replaced: readonly RecordId[] = [],
): Promise<void> {
  if (replaced.length > 0) {
    await tx
      .deleteFrom("dns_records")
      .where("company_id", "=", ids.companyId)
      .where("domain_id", "=", ids.domainId)
      .where("record_id", "in", replaced)
      .execute()
  }
  const rows = records.map(({ id: recordId, ...rest }) => ({ ...ids, recordId, ...rest }))
  await RECORDS.upsert(tx, rows.map(RECORDS.rowOf))
  await tx
    .updateTable("dns_zones")
    .set({ serial: sql<number>`serial + 1` })
    .where("company_id", "=", ids.companyId)
    .where("domain_id", "=", ids.domainId)
    .execute()
}

/**
 * Loads the zones of some names, in the given order; null for each that is not served.
 *
 * @param apexes in lower case, without a trailing dot
 */
export async function loadZones(
  db: Kysely<Tables>,
  apexes: readonly string[],
): Promise<readonly (Zone | null)[]> {
  if (apexes.length === 0) return []
  const zones = await db
    .selectFrom("dns_zones")
    .selectAll()
    .where("apex", "in", apexes)
    .where("is_served", "=", true)
    .execute()
  const domainIds = zones.map(({ domain_id }) => domain_id)
  const rows =
    domainIds.length === 0
      ? []
      : await db.selectFrom("dns_records").selectAll().where("domain_id", "in", domainIds).execute()
  const byDomain = Map.groupBy(rows, ({ domain_id }) => domain_id)
  return apexes.map((apex) => {
    const zone = zones.find((one) => one.apex === apex)
    if (zone === undefined) return null
    const { name_servers: nameServers, serial, domain_id: domainId } = zone
    return { apex, nameServers, serial: Number(serial), records: byDomain.get(domainId) ?? [] }
  })
}
