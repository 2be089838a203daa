/** Read model `people`: who belongs to a company. */
import type { Kysely, Transaction } from "kysely"
import type { Permission, Role } from "../domain/access/permissions.ts"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { Projection } from "./projection.ts"

/** A person; name and email are null once erased. */
export interface PersonRow {
  readonly company_id: string
  readonly person_id: string
  readonly name: string | null
  readonly email: string | null
  readonly role: Role
  /** Granted one by one, on top of the role. */
  readonly granted: readonly Permission[]
  readonly added_at: Date
}

interface Tables {
  people: PersonRow
}

/** The read model. */
export const people: Projection = {
  name: "people",
  version: 1,
  categories: ["access"],
  tables: ["people"],
  create: `
    create table people (
      company_id text not null,
      person_id text not null,
      name text,
      email text,
      role text not null,
      granted text[] not null,
      added_at timestamptz not null,
      primary key (company_id, person_id)
    )`,
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of facts) {
      if (fact.type !== "PersonAdded" || companyId === null) continue
      const [name, email] = await Promise.all([
        opener.open(companyId, fact.name),
        opener.open(companyId, fact.email),
      ])
      const { personId: person_id, role, permissions: granted, at } = fact
      await tx
        .insertInto("people")
        .values({
          company_id: companyId,
          person_id,
          name,
          email,
          role,
          granted: [...granted],
          added_at: new Date(at),
        })
        .execute()
    }
  },
}

/** The people of a company by name without case, then id. Runs as the API: one company is seen. */
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
