/**
 * Read model `charges`: the billing lines. One row for each fact that changed the funds, in the
 * order it was decided; a charge's own row says what became of it.
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { Charged, ChargeGivenBack, FundsAdded } from "../domain/charging/ledger-events.ts"
import type { ChargeId, CompanyId, KeyId } from "../domain/kernel/ids.ts"
import type { Micros } from "../domain/kernel/money.ts"
import type { Projection, Recorded } from "./projection.ts"

/** What kind of line it is on the bill. */
export type LineKind = "charge" | "give_back" | "funds_added" | "purchase"

/** How a charge stands: its work can still fail, it succeeded (or never could), or all came back. */
export type ChargeState = "open" | "final" | "given_back"

/** A billing line. */
export interface ChargeRow {
  readonly company_id: string
  /** The revision of its fact in the company's ledger: the order of the bill. */
  readonly revision: number
  readonly kind: LineKind
  readonly charge_id: string | null
  /** The charge that a give-back corrects. */
  readonly corrects: string | null
  /** How a charge stands; null on other lines. */
  readonly state: ChargeState | null
  readonly at: Date
  readonly served_from: Date | null
  readonly item: string | null
  readonly quantity: number | null
  readonly unit_price_micros: Micros | null
  readonly price_version: number | null
  /** The change of the funds: charges are negative. */
  readonly amount_micros: Micros
  readonly via: string | null
  readonly person_id: string | null
  readonly key_id: string | null
  readonly class: string | null
  readonly resource: string | null
  /** Why it came back, or the adder's reference. */
  readonly note: string | null
}

/** The table of this read model. */
export interface ChargeTables {
  charges: ChargeRow
}

const COLUMNS = [
  ["company_id", "text"],
  ["revision", "bigint"],
  ["kind", "text"],
  ["charge_id", "text"],
  ["corrects", "text"],
  ["state", "text"],
  ["at", "timestamptz"],
  ["served_from", "timestamptz"],
  ["item", "text"],
  ["quantity", "bigint"],
  ["unit_price_micros", "bigint"],
  ["price_version", "integer"],
  ["amount_micros", "bigint"],
  ["via", "text"],
  ["person_id", "text"],
  ["key_id", "text"],
  ["class", "text"],
  ["resource", "text"],
  ["note", "text"],
] as const satisfies readonly (readonly [keyof ChargeRow, string])[]

/** The read model. */
export const charges: Projection = {
  name: "charges",
  version: 1,
  categories: ["ledger"],
  tables: ["charges"],
  create: `
    create table charges (
      company_id text not null,
      revision bigint not null,
      kind text not null,
      charge_id text,
      corrects text,
      state text,
      at timestamptz not null,
      served_from timestamptz,
      item text,
      quantity bigint,
      unit_price_micros bigint,
      price_version integer,
      amount_micros bigint not null,
      via text,
      person_id text,
      key_id text,
      class text,
      resource text,
      note text,
      primary key (company_id, revision)
    );
    create index on charges (company_id, charge_id) where charge_id is not null;
    create index on charges (company_id, at)`,
  apply: async (tx: Transaction<ChargeTables>, facts) => {
    const lines: ChargeRow[] = []
    const endings: Ending[] = []
    for (const recorded of facts) {
      const { fact } = recorded
      const company = recorded.companyId ?? ""
      if (fact.type === "Charged") lines.push(chargeLine(recorded, fact))
      if (fact.type === "FundsAdded") lines.push(fundsLine(recorded, fact))
      if (fact.type === "ChargesClosed") {
        endings.push(...fact.chargeIds.map((id) => ({ company, id, givenBack: null })))
      }
      if (fact.type === "ChargeGivenBack") {
        lines.push(giveBackLine(recorded, fact))
        endings.push({ company, id: fact.chargeId, givenBack: fact.amountMicros })
      }
    }
    if (lines.length > 0) await insertLines(tx, lines)
    if (endings.length > 0) await endCharges(tx, endings)
  },
}

/** The end of an open charge; `givenBack` is null where it was closed. */
interface Ending {
  readonly company: CompanyId
  readonly id: ChargeId
  readonly givenBack: Micros | null
}

const NO_DETAILS = {
  charge_id: null,
  corrects: null,
  state: null,
  served_from: null,
  item: null,
  quantity: null,
  unit_price_micros: null,
  price_version: null,
  via: null,
  person_id: null,
  key_id: null,
  class: null,
  resource: null,
  note: null,
}

function lineOf(recorded: Recorded, kind: LineKind, amount: Micros): ChargeRow {
  const { companyId, revision, fact } = recorded
  return {
    ...NO_DETAILS,
    company_id: companyId ?? "",
    revision,
    kind,
    at: new Date(fact.at),
    amount_micros: amount,
  }
}

function chargeLine(recorded: Recorded, fact: Charged): ChargeRow {
  return {
    ...lineOf(recorded, "charge", -fact.amountMicros),
    charge_id: fact.chargeId,
    state: fact.open ? "open" : "final",
    served_from: fact.servedFrom === null ? null : new Date(fact.servedFrom),
    item: fact.item,
    quantity: fact.quantity,
    unit_price_micros: fact.unitPriceMicros,
    price_version: fact.priceVersion,
    via: fact.via,
    person_id: fact.personId,
    key_id: fact.keyId,
    class: fact.class,
    resource: fact.resource,
  }
}

function giveBackLine(recorded: Recorded, fact: ChargeGivenBack): ChargeRow {
  return {
    ...lineOf(recorded, "give_back", fact.amountMicros),
    corrects: fact.chargeId,
    via: fact.via,
    person_id: fact.personId,
    key_id: fact.keyId,
    class: fact.class,
    item: fact.item,
    resource: fact.resource,
    note: fact.reason,
  }
}

function fundsLine(recorded: Recorded, fact: FundsAdded): ChargeRow {
  return { ...lineOf(recorded, "funds_added", fact.amountMicros), note: fact.reference }
}

/** One statement for a whole batch: a column is an array. */
async function insertLines(
  tx: Transaction<ChargeTables>,
  lines: readonly ChargeRow[],
): Promise<void> {
  const names = sql.raw(COLUMNS.map(([name]) => `"${name}"`).join(", "))
  const arrays = COLUMNS.map(
    ([name, type]) => sql`${lines.map((line) => line[name])}::${sql.raw(type)}[]`,
  )
  await sql`insert into charges (${names}) select * from unnest(${sql.join(arrays)})`.execute(tx)
}

/** A charge of which only a part came back has paid for its work: it is final. */
async function endCharges(
  tx: Transaction<ChargeTables>,
  endings: readonly Ending[],
): Promise<void> {
  await sql`
    update charges
    set state = case when ended.given_back = -charges.amount_micros then 'given_back' else 'final' end
    from unnest(
      ${endings.map((ending) => ending.company)}::text[],
      ${endings.map((ending) => ending.id)}::text[],
      ${endings.map((ending) => ending.givenBack)}::bigint[]
    ) as ended (company_id, charge_id, given_back)
    where charges.company_id = ended.company_id and charges.charge_id = ended.charge_id`.execute(tx)
}

/** How a charge stands by now; null where there is none of this id. */
export async function findCharge(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<ChargeRow | null> {
  const row = await db
    .selectFrom("charges")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("charge_id", "=", chargeId)
    .executeTakeFirst()
  return row ?? null
}

/** What a key bought funds for since an instant, in micros. */
export async function boughtByKey(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  keyId: KeyId,
  since: Date,
): Promise<Micros> {
  const row = await db
    .selectFrom("charges")
    .select(sql<number>`coalesce(sum(amount_micros), 0)::bigint`.as("bought"))
    .where("company_id", "=", companyId)
    .where("key_id", "=", keyId)
    .where("kind", "=", "purchase")
    .where("at", ">=", since)
    .executeTakeFirstOrThrow()
  return row.bought
}
