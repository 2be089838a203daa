/** Read model `people`: the people of each company. */
import type { Kysely, Transaction } from "kysely"
import type { Grantable, Role } from "../../domain/access/permissions.ts"
import type { PersonChanged } from "../../domain/access/access-events.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Unsealer } from "../kernel/projection.ts"
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

const PEOPLE = defineTable(
  "people",
  {
    company_id: textColumn<CompanyId>(),
    person_id: textColumn<PersonId>(),
    name: nullableColumn(textColumn()),
    email: nullableColumn(textColumn()),
    role: textColumn<Role>(),
    granted: textArrayColumn<Grantable>(),
    denied: textArrayColumn<Grantable>(),
    added_at: instantColumn(),
  },
  ["company_id", "person_id"],
  "(lower(email))",
)

/** A person; name and email are null once erased. */
export type PersonRow = RowOf<typeof PEOPLE>

type Tables = RowsOf<typeof PEOPLE>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof PEOPLE> {}
}

/** The read model `people`. */
export const peopleReadModel = defineReadModel({
  name: "people",
  version: 4,
  on: ["PersonAdded", "PersonChanged", "AppAccessSet", "PersonRemoved"],
  ...tablesOf(PEOPLE),
  erased: { people: ["name", "email"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of facts) {
      if (companyId === null) continue
      if (fact.type === "PersonAdded") {
        const [name, email] = await Promise.all([
          opener.unseal(companyId, fact.name),
          opener.unseal(companyId, fact.email),
        ])
        const lists = { granted: fact.permissions, denied: [] }
        const row = { ...fact, ...lists, companyId, name, email, addedAt: fact.at }
        await tx.insertInto("people").values(PEOPLE.rowOf(row)).execute()
      }
      if (fact.type === "PersonChanged") {
        await change(tx, companyId, fact.personId, await changesOf(companyId, fact, opener))
      }
      if (fact.type === "AppAccessSet") {
        const lists = { granted: [...fact.grant], denied: [...fact.deny] }
        await change(tx, companyId, fact.personId, lists)
      }
      if (fact.type === "PersonRemoved") {
        await tx
          .deleteFrom("people")
          .where("company_id", "=", companyId)
          .where("person_id", "=", fact.personId)
          .execute()
      }
    }
  },
})

async function changesOf(
  companyId: CompanyId,
  { name, email, role }: PersonChanged,
  opener: Unsealer,
): Promise<Partial<PersonRow>> {
  return {
    ...(name === null ? {} : { name: await opener.unseal(companyId, name) }),
    ...(email === null ? {} : { email: await opener.unseal(companyId, email) }),
    ...(role === null ? {} : { role }),
  }
}

async function change(
  tx: Transaction<Tables>,
  companyId: CompanyId,
  personId: PersonId,
  row: Partial<PersonRow>,
): Promise<void> {
  await tx
    .updateTable("people")
    .set(row)
    .where("company_id", "=", companyId)
    .where("person_id", "=", personId)
    .execute()
}

/**
 * Lists the people of a company by name without case, then id. Runs as the API, which sees only its own company.
 */
export async function listPeople(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly PersonRow[]> {
  const rows = await db
    .selectFrom("people")
    .selectAll()
    .where("company_id", "=", companyId)
    .execute()
  const nameOf = (row: PersonRow) => (row.name ?? "").toLowerCase()
  return rows.toSorted((a, b) => {
    if (nameOf(a) !== nameOf(b)) return nameOf(a) < nameOf(b) ? -1 : 1
    return a.person_id < b.person_id ? -1 : 1
  })
}

/** Finds a person of a company; null if there is none. Runs as the API. */
export async function findPersonRow(
  db: Kysely<Tables>,
  companyId: CompanyId,
  personId: PersonId,
): Promise<PersonRow | null> {
  const row = await db
    .selectFrom("people")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("person_id", "=", personId)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the company of a person; null if there is no such person. For operators. */
export async function companyOfPerson(
  db: Kysely<Tables>,
  personId: PersonId,
): Promise<CompanyId | null> {
  const row = await db
    .selectFrom("people")
    .select("company_id")
    .where("person_id", "=", personId)
    .executeTakeFirst()
  return row?.company_id ?? null
}

/** Lists the people with an email, in any case, by company. */
export async function findPeopleByEmail(
  db: Kysely<Tables>,
  email: string,
): Promise<readonly Pick<PersonRow, "company_id" | "person_id" | "email">[]> {
  return db
    .selectFrom("people")
    .select(["company_id", "person_id", "email"])
    .where((where) => where(where.fn<string>("lower", ["email"]), "=", email.toLowerCase()))
    .orderBy("company_id")
    .execute()
}
