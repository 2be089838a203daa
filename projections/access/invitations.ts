/** Read model `invitations`: who was invited to a company and does not belong to it yet. */
import type { Kysely, Transaction } from "kysely"
import type { Role } from "../../domain/access/permissions.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Projection } from "../kernel/projection.ts"

/** An invitation; `email` is null once it was erased. */
export interface InvitationRow {
  readonly company_id: CompanyId
  /** Keyed hash of the email: one invitation for each. */
  readonly email_tag: string
  readonly invite_id: string
  readonly email: string | null
  readonly role: Role
  readonly expires_at: Date
}

interface Tables {
  invitations: InvitationRow
}

/** The read model. */
export const invitations: Projection = {
  name: "invitations",
  version: 2,
  categories: ["access", "companies"],
  tables: ["invitations"],
  personal: ["invitations"],
  create: `
    create table invitations (
      company_id text not null,
      email_tag text not null,
      invite_id text not null,
      email text,
      role text not null,
      expires_at timestamptz not null,
      primary key (company_id, email_tag)
    )`,
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of facts) {
      if (fact.type === "CompanyErased") {
        await tx.deleteFrom("invitations").where("company_id", "=", fact.companyId).execute()
      }
      if (companyId === null) continue
      if (fact.type === "PersonInvited") {
        const { inviteId: invite_id, emailTag: email_tag, role, expiresAt } = fact
        const email = await opener.open(companyId, fact.email)
        const row = { invite_id, email, role, expires_at: new Date(expiresAt) }
        await tx
          .insertInto("invitations")
          .values({ company_id: companyId, email_tag, ...row })
          .onConflict((conflict) => conflict.columns(["company_id", "email_tag"]).doUpdateSet(row))
          .execute()
      }
      // Whoever has the email by now belongs to the company.
      if (fact.type === "PersonAdded" || fact.type === "PersonChanged") {
        await tx
          .deleteFrom("invitations")
          .where("company_id", "=", companyId)
          .where("email_tag", "=", fact.emailTag ?? "")
          .execute()
      }
    }
  },
}

/** The invitations that stand at a time, the first to end first. Runs as the API. */
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
