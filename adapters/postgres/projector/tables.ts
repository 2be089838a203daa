/** Creates, compares and swaps the tables of a read model. */
import type { Pool, PoolClient } from "pg"
import type { Projection, FactSelection } from "../../../projections/kernel/projection.ts"
import type { Position, SeenEvent, StoredEvent } from "../../eventstore/port.ts"
import { withConnection, API_ROLE, COMPANY_SETTING } from "../database.ts"

/** The schema of the live read models. */
export const LIVE_SCHEMA = "read"

/** Runs work in one transaction, with `schema` as the search path if given. */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  schema?: string,
): Promise<T> {
  return withConnection(pool, async (client) => {
    await client.query(
      schema === undefined ? "begin" : `begin; set local search_path to "${schema}"`,
    )
    const result = await work(client)
    await client.query("commit")
    return result
  })
}

/** Creates missing indexes that only lists use. Writers of the read model wait meanwhile, readers do not. */
export async function createIndexes(
  pool: Pool,
  { createIndexes: statements = "" }: Projection,
  schema: string,
): Promise<void> {
  if (statements !== "") await inTransaction(pool, (client) => client.query(statements), schema)
}

/**
 * Creates a read model's tables in a schema and forces row-level security: the owner writes all
 * rows, the API's role sees those of the company in its setting.
 */
export async function createTables(
  client: PoolClient,
  projection: Pick<Projection, "create" | "tables">,
  schema: string,
): Promise<void> {
  await client.query(`set local search_path to "${schema}"`)
  await client.query(projection.create)
  for (const table of projection.tables) {
    await client.query(`
      alter table "${table}" enable row level security;
      alter table "${table}" force row level security;
      create policy owner_writes on "${table}" to current_user using (true) with check (true);
      create policy one_company on "${table}" for select to ${API_ROLE}
        using (company_id = current_setting('${COMPANY_SETTING}', true));
      grant select on "${table}" to ${API_ROLE}`)
  }
}

export interface StoredProjection {
  readonly name: string
  readonly version: number
  /** All its facts up to here are written. */
  readonly position: Position
  /** The last event that it handled; null if none was stored yet. */
  readonly lastEvent: SeenEvent | null
  readonly fault: string | null
}

/** Reads the stored state of all projections. */
export async function readStoredProjections(
  client: Pick<Pool, "query">,
): Promise<readonly StoredProjection[]> {
  const { rows } = await client.query<Row>("select * from ledger.projections")
  return rows.map(toStoredProjection)
}

/** Reads the stored state of a projection. @throws RangeError if there is none */
export async function readStoredProjection(
  client: Pick<Pool, "query">,
  name: string,
  lock: "" | "for update" = "",
): Promise<StoredProjection> {
  const { rows } = await client.query<Row>(
    `select * from ledger.projections where name = $1 ${lock}`,
    [name],
  )
  const row = rows[0]
  if (row === undefined) throw new RangeError(`The read model ${name} has no stored position`)
  return toStoredProjection(row)
}

/**
 * The same, and locks the projection against other writers for the rest of the transaction.
 *
 * @throws RangeError if there is none
 */
export function lockStoredProjection(client: PoolClient, name: string): Promise<StoredProjection> {
  return readStoredProjection(client, name, "for update")
}

/** Stores that all facts of a projection, in this version, are written up to a position. */
export async function storePosition(
  client: PoolClient,
  { name, version }: Projection,
  { commit, prepare }: Position,
): Promise<void> {
  await client.query(
    `update ledger.projections
     set version = $2, commit_position = $3, prepare_position = $4, fault = null
     where name = $1`,
    [name, version, commit, prepare],
  )
}

interface Row {
  readonly name: string
  readonly version: number
  readonly commit_position: string
  readonly prepare_position: string
  readonly last_event: SeenEventJson | null
  readonly fault: string | null
}

/** A seen event as JSON; a position may exceed JSON's exact numbers, so it is text. */
interface SeenEventJson extends Omit<SeenEvent, "position"> {
  readonly commit: string
  readonly prepare: string
}

/** Formats a seen event for storage. */
export function formatSeenEvent({ stream, revision, id, position }: SeenEvent): string {
  const { commit, prepare } = position
  const json: SeenEventJson = {
    stream,
    revision,
    id,
    commit: String(commit),
    prepare: String(prepare),
  }
  return JSON.stringify(json)
}

function toStoredProjection(row: Row): StoredProjection {
  const { name, version, commit_position, prepare_position, last_event, fault } = row
  const position = { commit: BigInt(commit_position), prepare: BigInt(prepare_position) }
  const lastEvent = last_event === null ? null : parseSeenEvent(last_event)
  return { name, version, position, lastEvent, fault }
}

function parseSeenEvent({ stream, revision, id, commit, prepare }: SeenEventJson): SeenEvent {
  return { stream, revision, id, position: { commit: BigInt(commit), prepare: BigInt(prepare) } }
}

async function dropTables(client: PoolClient, { tables }: Projection): Promise<void> {
  for (const table of tables) await client.query(`drop table if exists ${LIVE_SCHEMA}."${table}"`)
}

/** Replaces a read model's live tables with empty ones. */
export async function recreateTables(client: PoolClient, projection: Projection): Promise<void> {
  await dropTables(client, projection)
  await createTables(client, projection, LIVE_SCHEMA)
}

/** The schema in which a read model is rebuilt. */
export function shadowSchema(name: string): string {
  return `shadow_${name.replaceAll("-", "_")}`
}

/** Replaces the live tables with those of the shadow schema. */
export async function swapTables(client: PoolClient, projection: Projection): Promise<void> {
  const schema = shadowSchema(projection.name)
  await dropTables(client, projection)
  for (const table of projection.tables) {
    await client.query(`alter table "${schema}"."${table}" set schema ${LIVE_SCHEMA}`)
  }
  await client.query(`drop schema "${schema}" cascade`)
}

/**
 * Number of rows and an order-independent checksum of a table, or of a company's rows in it.
 *
 * @param companyId null for all rows
 */
export async function checksum(
  client: PoolClient,
  schema: string,
  table: string,
  companyId: string | null = null,
): Promise<string> {
  const { rows } = await client.query<{ rows: number; sum: string }>(
    `select count(*) as rows,
            coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0)::text as sum
     from "${schema}"."${table}" t ${companyId === null ? "" : "where company_id = $1"}`,
    companyId === null ? [] : [companyId],
  )
  const [{ rows: count, sum } = { rows: 0, sum: "0" }] = rows
  return `${count} ${count === 1 ? "row" : "rows"}, checksum ${sum}`
}

/** The events that may change the rows of a read model. */
export function factsOf(
  { categories, ignoredTypes = [] }: FactSelection,
  events: readonly StoredEvent[],
): StoredEvent[] {
  return events.filter(
    ({ stream, type }) => readsStream({ categories }, stream) && !ignoredTypes.includes(type),
  )
}

/** Whether a read model reads a stream. */
export function readsStream(
  { categories }: Pick<FactSelection, "categories">,
  stream: string,
): boolean {
  return categories.includes(stream.split("-", 1)[0] as string)
}
