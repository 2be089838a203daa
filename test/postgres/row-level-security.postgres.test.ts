import { anyTable } from "../support/read-models.ts"
import type pg from "pg"
import { describe, expect, it } from "vitest"
import { readAsCompany, API_ROLE } from "../../adapters/postgres/database.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { PROGRAM } from "../../src/slices.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { databaseUnderTest } from "./database-under-test.ts"

/** A value for each column type; texts contain the company, so that keys differ. */
const VALUES: Readonly<Record<string, (companyId: CompanyId) => unknown>> = {
  text: (companyId) => `of ${companyId}`,
  bigint: () => 1,
  integer: () => 1,
  boolean: () => false,
  "timestamp with time zone": () => new Date(0),
  date: () => "2026-11-01",
  jsonb: () => "{}",
  "text[]": () => [],
  "bigint[]": () => [],
}

/**
 * Inserts a row of a company into every table of the read models.
 *
 * @throws Error if `VALUES` has no value for a column's type
 */
async function fillEveryTable(owner: pg.Pool, companyId: CompanyId): Promise<void> {
  const { rows } = await owner.query<{ name: string; columns: string[]; types: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
       array_agg(format_type(a.atttypid, null) order by a.attnum) as types
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'read'::regnamespace and c.relkind in ('r', 'p')
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by c.relname order by c.relname`,
  )
  for (const { name, columns, types } of rows) {
    const values = columns.map((column, i) => {
      const valueOf = VALUES[types[i] ?? ""]
      if (valueOf === undefined) {
        throw new Error(`read.${name}.${column} is a ${types[i]}: add a value for it to VALUES`)
      }
      return column === "company_id" ? companyId : valueOf(companyId)
    })
    const placeholders = values.map((_value, i) => `$${i + 1}`).join(", ")
    const columnList = columns.map((column) => `"${column}"`).join(", ")
    await owner.query(
      `insert into read."${name}" (${columnList}) values (${placeholders}) on conflict do nothing`,
      values,
    )
  }
}

// A database's privileges are not copied from its template, so this one is migrated.
const database = await databaseUnderTest({ migrated: false })
const world = await ownWorld("start", { url: database.url })
const owner = database.pool(2)
const api = database.apiPool(2)
const acme = await makeCompany(world)
const other = await makeCompany(world)
// Waits for the read models' own rows, so that the rows of this test do not conflict with them.
await world.operate("wait")
for (const { companyId } of [acme, other]) await fillEveryTable(owner, companyId)

interface Table {
  readonly schema: string
  readonly name: string
  readonly owner: string
  readonly secured: boolean
  readonly forced: boolean
  readonly policies: number
  readonly has_company: boolean
}

/** Every table of the program, including schemas of rebuilds in progress. */
async function tables(): Promise<readonly Table[]> {
  const { rows } = await owner.query<Table>(
    `select n.nspname as schema, c.relname as name, pg_get_userbyid(c.relowner) as owner,
       c.relrowsecurity as secured, c.relforcerowsecurity as forced,
       (select count(*) from pg_policy p where p.polrelid = c.oid) as policies,
       exists (select from pg_attribute a where a.attrelid = c.oid
         and a.attname = 'company_id' and not a.attisdropped) as has_company
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'f')
       and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
     order by 1, 2`,
  )
  return rows
}

/** The API role's privileges on a table, according to PostgreSQL. */
async function grants(table: Table): Promise<readonly string[]> {
  const rights = ["select", "insert", "update", "delete", "truncate", "references", "trigger"]
  const { rows } = await owner.query<{ right: string }>(
    `select r as right from unnest($3::text[]) r
     where has_schema_privilege($1, $2::regnamespace, 'usage')
       and has_table_privilege($1, $4::text, r)`,
    [API_ROLE, table.schema, rights, `${table.schema}."${table.name}"`],
  )
  return rows.map(({ right }) => right)
}

/** Ways for the API role to read another company's rows or create objects, according to PostgreSQL. */
async function holes(client: pg.ClientBase | pg.Pool): Promise<readonly string[]> {
  const { rows } = await client.query<{ hole: string }>(
    `select format('%s.%s without row-level security', nspname, relname) as hole
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_'
       and has_schema_privilege($1, n.oid, 'usage')
       and exists (select from pg_attribute a where a.attrelid = c.oid
         and a.attname = 'company_id' and not a.attisdropped)
       and not (c.relrowsecurity and c.relforcerowsecurity)
     union all
     select format('can create objects in %s', nspname) from pg_namespace
     where has_schema_privilege($1, oid, 'create')
     union all
     select format('%s in the database', r) from unnest(array['create', 'temporary']) r
     where has_database_privilege($1, current_database(), r)
     order by 1`,
    [API_ROLE],
  )
  return rows.map(({ hole }) => hole)
}

describe("the system catalog", () => {
  it("gives the API role no access to other companies' rows, and no right to create objects", async () => {
    expect(await holes(owner)).toEqual([])
  })

  it.for([
    [
      `grant usage on schema ledger to ${API_ROLE}`,
      "ledger.idempotent_requests without row-level security",
    ],
    ["alter table read.messages no force row level security", /^read.messages without/],
    ["create view read.all_people as select * from read.people", /^read.all_people without/],
    [`grant create on schema read to ${API_ROLE}`, "can create objects in read"],
    ["grant temporary on database %I to public", "temporary in the database"],
    [`grant create on database %I to ${API_ROLE}`, "create in the database"],
  ] as const)("shows the access that this statement would give: %s", async ([statement, hole]) => {
    const client = await owner.connect()
    try {
      await client.query("begin")
      const { rows } = await client.query<{ sql: string }>(
        "select case when $1 like '%\\%I%' then format($1, current_database()) else $1 end as sql",
        [statement],
      )
      await client.query(rows[0]?.sql ?? "")
      expect(await holes(client)).toContainEqual(
        typeof hole === "string" ? hole : expect.stringMatching(hole),
      )
    } finally {
      await client.query("rollback")
      client.release()
    }
  })

  it("lets the login user create temporary tables", async () => {
    const { rows } = await owner.query<{ may: boolean }>(
      "select has_database_privilege(current_user, current_database(), 'temporary') as may",
    )
    expect(rows).toEqual([{ may: true }])
  })

  it("has exactly the tables that the read models name", async () => {
    const expectedNames = PROGRAM.readModels.flatMap((projection) => projection.tables).toSorted()
    const found = (await tables()).filter(({ schema }) => schema === "read")
    expect(found.map(({ name }) => name)).toEqual(expectedNames)
  })

  it("forces row-level security by company on each, and the API role owns none", async () => {
    for (const table of (await tables()).filter(({ schema }) => schema === "read")) {
      expect(table, table.name).toMatchObject({
        secured: true,
        forced: true,
        policies: 2,
        has_company: true,
      })
      expect(table.owner, table.name).not.toBe(API_ROLE)
    }
  })

  it("lets the API role only read the read models", async () => {
    for (const table of await tables()) {
      const wanted = table.schema === "read" ? ["select"] : []
      expect(await grants(table), `${table.schema}.${table.name}`).toEqual(wanted)
    }
  })

  it("gives the API role no create privilege, no login and no attributes", async () => {
    const { rows } = await owner.query(
      `select nspname from pg_namespace where has_schema_privilege($1, oid, 'create')`,
      [API_ROLE],
    )
    expect(rows).toEqual([])
    const { rows: roles } = await owner.query(
      `select rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb,
         (select count(*) from pg_auth_members m where m.member = r.oid) as memberships
       from pg_roles r where rolname = $1`,
      [API_ROLE],
    )
    expect(roles).toEqual([
      {
        rolcanlogin: false,
        rolsuper: false,
        rolbypassrls: false,
        rolcreaterole: false,
        rolcreatedb: false,
        memberships: 0,
      },
    ])
  })
})

describe("an API connection", () => {
  it("sees no rows without a company", async () => {
    for (const { name } of (await tables()).filter(({ schema }) => schema === "read")) {
      expect((await api.query(`select from read."${name}"`)).rowCount, name).toBe(0)
    }
  })

  it("sees only the rows of its company", async () => {
    const read = readAsCompany(api)
    for (const { name } of (await tables()).filter(({ schema }) => schema === "read")) {
      for (const { companyId } of [acme, other]) {
        const ids = await read(companyId, async (db) =>
          anyTable(db).selectFrom(name).select("company_id").distinct().execute(),
        )
        expect(ids, name).toEqual([{ company_id: companyId }])
      }
    }
  })

  it("does not see the rows of the company that used it before", async () => {
    const one = database.apiPool(1)
    const read = readAsCompany(one)
    const count = (companyId: CompanyId | "") =>
      // With an unknown or empty company no rows are visible.
      read(companyId as CompanyId, async (db) => {
        const rows = await db.selectFrom("people").selectAll().execute()
        return rows.length
      })
    // The company's owner, and the row of this test.
    expect(await count(acme.companyId)).toBe(2)
    expect(await count("co_unknown")).toBe(0)
    expect(await count("")).toBe(0)
  })

  it("is closed after a failed query, whatever its state", async () => {
    const one = database.apiPool(1)
    const read = readAsCompany(one)
    const failing = read(acme.companyId, async (db) =>
      anyTable(db).selectFrom("nothing").selectAll().execute(),
    )
    await expect(failing).rejects.toThrow('relation "nothing" does not exist')
    expect((await one.query("select from people")).rowCount).toBe(0)
  })

  it("cannot write, and cannot read anything except the read models", async () => {
    for (const statement of [
      "delete from read.messages",
      "insert into read.companies values ('co_x', null, now())",
      "update read.accounts set balance_micros = 0",
      "truncate read.charges",
      "select from eventstore.events",
      "select from ledger.installation",
      "select from ledger.subject_keys",
      "select from ledger.jobs",
      "create table read.mine (id int)",
      "create temporary table mine (id int)",
      "select eventstore.append_many('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
    ]) {
      await expect(api.query(statement), statement).rejects.toMatchObject({ code: "42501" })
    }
  })

  it("keeps its role after `reset role`", async () => {
    // The login user can still `set role none`: row-level security protects against wrong queries of
    // the program, not against a caller that can run any statement.
    const client = await api.connect()
    await client.query("reset role")
    const { rows } = await client.query("select current_user as name")
    client.release(true)
    expect(rows).toEqual([{ name: API_ROLE }])
  })
})
