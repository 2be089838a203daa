/** Read model `invitations`: people who were invited to a company and have not joined. */
import type { Kysely, Transaction } from "kysely"
import type { Role } from "../../domain/access/permissions.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const INVITATIONS = defineTable(
  "invitations",
  {
    company_id: textColumn<CompanyId>(),
    email_tag: textColumn(),
    invite_id: textColumn(),
    email: nullableColumn(textColumn()),
    role: textColumn<Role>(),
    expires_at: instantColumn(),
  },
  ["company_id", "email_tag"],
  "(lower(email))",
)

/** An invitation; `email` is null once erased. */
export type InvitationRow = RowOf<typeof INVITATIONS>

type Tables = RowsOf<typeof INVITATIONS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof INVITATIONS> {}
}

/** The read model `invitations`. */
export const invitationsReadModel = defineReadModel({
  name: "invitations",
  version: 4,
  on: ["PersonInvited", "InvitationWithdrawn", "PersonAdded", "PersonChanged"],
  ...tablesOf(INVITATIONS),
  erased: { invitations: "rows" },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of facts) {
      if (companyId === null) continue
      if (fact.type === "PersonInvited") {
        const email = await opener.unseal(companyId, fact.email)
        await INVITATIONS.upsert(tx, [INVITATIONS.rowOf({ ...fact, companyId, email })])
      }
      if (fact.type === "InvitationWithdrawn") {
        await tx
          .deleteFrom("invitations")
          .where("company_id", "=", companyId)
          .where("email_tag", "=", fact.emailTag)
          .execute()
      }
      // A person with this email now belongs to the company.
      if (fact.type === "PersonAdded" || fact.type === "PersonChanged") {
        await tx
          .deleteFrom("invitations")
          .where("company_id", "=", companyId)
          .where("email_tag", "=", fact.emailTag ?? "")
          .execute()
      }
    }
  },
})

/** Lists a company's open invitations, first to expire first. Runs as the API. */
export async function listInvitations(
  db: Kysely<Tables>,
  companyId: CompanyId,
  at: number,
): Promise<readonly InvitationRow[]> {
  return db
    .selectFrom("invitations")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("expires_at", ">", new Date(at))
    .orderBy("expires_at")
    .orderBy("invite_id")
    .execute()
}

/** Lists the open invitations to an email, by company. */
export async function listInvitationsTo(
  db: Kysely<Tables>,
  email: string,
  at: number,
): Promise<readonly InvitationRow[]> {
  return db
    .selectFrom("invitations")
    .selectAll()
    .where((where) => where(where.fn<string>("lower", ["email"]), "=", email.toLowerCase()))
    .where("expires_at", ">", new Date(at))
    .orderBy("company_id")
    .execute()
}

/** Returns the email of an invitation; null if it is not open. Runs as the API. */
export async function findInvitedEmail(
  db: Kysely<Tables>,
  companyId: CompanyId,
  inviteId: string,
): Promise<string | null> {
  const row = await db
    .selectFrom("invitations")
    .select("email")
    .where("company_id", "=", companyId)
    .where("invite_id", "=", inviteId)
    .executeTakeFirst()
  return row?.email ?? null
}
