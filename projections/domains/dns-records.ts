/** Read model `dns-records`: the zones as they are served, which the name server answers from. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { RecordSource, RecordType, Zone } from "../../domain/domains/records.ts"
import type { DomainFact, ZoneRow, DomainId, RecordId } from "../../domain/domains/domain-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { FactOn, Recorded } from "../kernel/projection.ts"
import { readModel } from "../kernel/projection.ts"
import type { RowsOf } from "../kernel/table.ts"
import { bigint, flag, integer, madeOf, orNull, table, text, texts } from "../kernel/table.ts"
import type { ConnectedDomain } from "./domains.ts"
import { connectedDomain } from "./domains.ts"

const ZONES = table(
  "dns_zones",
  {
    company_id: text<CompanyId>(),
    domain_id: text<DomainId>(),
    apex: text(),
    name_servers: texts(),
    serial: bigint(),
    /** As `zoneOf` of the domain's rules says. */
    is_served: flag(),
  },
  ["company_id", "domain_id"],
  "(apex)",
)

const RECORDS = table(
  "dns_records",
  {
    company_id: text<CompanyId>(),
    domain_id: text<DomainId>(),
    record_id: text<RecordId>(),
    type: text<RecordType>(),
    name: text(),
    content: text(),
    priority: orNull(integer()),
    ttl: integer(),
    source: text<RecordSource>(),
  },
  ["company_id", "domain_id", "record_id"],
)

type Tables = RowsOf<typeof ZONES | typeof RECORDS>

declare module "../kernel/table.ts" {
  interface ReadTables extends RowsOf<typeof ZONES | typeof RECORDS> {}
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
type Handled = FactOn<(typeof ON)[number]>

/** The read model. */
export const dnsRecords = readModel({
  name: "dns-records",
  version: 1,
  on: ON,
  ...madeOf(ZONES, RECORDS),
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const recorded of facts) await applyOne(tx, recorded)
  },
})

async function applyOne(tx: Transaction<Tables>, recorded: Recorded<Handled>): Promise<void> {
  const { fact } = recorded
  const of = connectedDomain(recorded)
  if (of === null) return
  switch (fact.type) {
    case "DomainConnected":
      return connect(tx, of, fact)
    case "DelegationSeen": {
      const isServed = !fact.isElsewhere || fact.status === "live"
      await tx
        .updateTable("dns_zones")
        .set({ is_served: isServed })
        .where("company_id", "=", of.companyId)
        .where("domain_id", "=", of.domainId)
        .execute()
      return
    }
    case "RecordsCopied":
      return change(tx, of, fact.records)
    case "RecordAdded":
    case "RecordUpdated":
      return change(tx, of, [fact.record])
    case "RecordRemoved":
      return change(tx, of, [], [fact.recordId])
    case "SendingDomainAdded":
    case "AppAddressSaved":
      return change(tx, of, fact.records, fact.replaced)
    case "DomainRemoved":
    case "DomainReleased":
      for (const name of ["dns_records", "dns_zones"] as const) {
        await tx
          .deleteFrom(name)
          .where("company_id", "=", of.companyId)
          .where("domain_id", "=", of.domainId)
          .execute()
      }
      return
  }
}

async function connect(
  tx: Transaction<Tables>,
  of: ConnectedDomain,
  { name: apex, nameServers }: DomainFact<"DomainConnected">,
): Promise<void> {
  const zone = { ...of, apex, nameServers, serial: 1, isServed: true }
  await tx.insertInto("dns_zones").values(ZONES.rowOf(zone)).execute()
}

async function change(
  tx: Transaction<Tables>,
  of: ConnectedDomain,
  records: readonly ZoneRow[],
  replaced: readonly RecordId[] = [],
): Promise<void> {
  if (replaced.length > 0) {
    await tx
      .deleteFrom("dns_records")
      .where("company_id", "=", of.companyId)
      .where("domain_id", "=", of.domainId)
      .where("record_id", "in", replaced)
      .execute()
  }
  const rows = records.map(({ id: recordId, ...rest }) => ({ ...of, recordId, ...rest }))
  await RECORDS.upsert(tx, rows.map(RECORDS.rowOf))
  await tx
    .updateTable("dns_zones")
    .set({ serial: sql<number>`serial + 1` })
    .where("company_id", "=", of.companyId)
    .where("domain_id", "=", of.domainId)
    .execute()
}

/**
 * The zones of some names, in their order; null for each that is not served.
 *
 * @param apexes without a dot at the end, in small letters
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
  const ids = zones.map(({ domain_id }) => domain_id)
  const rows =
    ids.length === 0
      ? []
      : await db.selectFrom("dns_records").selectAll().where("domain_id", "in", ids).execute()
  const byDomain = Map.groupBy(rows, ({ domain_id }) => domain_id)
  return apexes.map((apex) => {
    const zone = zones.find((one) => one.apex === apex)
    if (zone === undefined) return null
    const { name_servers: nameServers, serial, domain_id: domainId } = zone
    return { apex, nameServers, serial: Number(serial), records: byDomain.get(domainId) ?? [] }
  })
}
