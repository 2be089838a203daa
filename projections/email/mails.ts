/** Read model `mails`: sent mails with their status, one row per recipient. */
import type { Kysely, Transaction } from "kysely"
import type { MailId } from "../../domain/email/ids.ts"
import type { MailCopyStatus } from "../../domain/email/mail.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { CompanyFact, FactOfType, Unsealer } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  instantColumn,
  integerColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"

const MAILS = defineTable(
  "mails",
  {
    company_id: textColumn<CompanyId>(),
    mail_id: textColumn<MailId>(),
    n: integerColumn(),
    sender: nullableColumn(textColumn()),
    recipient: nullableColumn(textColumn()),
    sending_domain_id: textColumn(),
    charge_id: textColumn(),
    key_id: nullableColumn(textColumn<KeyId>()),
    person_id: nullableColumn(textColumn<PersonId>()),
    status: textColumn<MailCopyStatus | "refused">(),
    code: nullableColumn(textColumn()),
    sent_at: instantColumn(),
    changed_at: instantColumn(),
  },
  ["company_id", "mail_id", "n"],
  "(company_id, sent_at)",
  "(mail_id)",
)

/** A mail to one recipient; `sender` and `recipient` are null once erased. */
export type MailRow = RowOf<typeof MAILS>

type Tables = RowsOf<typeof MAILS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof MAILS> {}
}

const ON = ["MailAccepted", "MailDispatched", "MailRefused", "MailBounced"] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `mails`. */
export const mailsReadModel = defineReadModel({
  name: "mails",
  version: 1,
  on: ON,
  ...tablesOf(MAILS),
  erased: { mails: ["sender", "recipient"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const recorded of companyFacts(facts)) await applyOne(tx, recorded, opener)
  },
})

async function applyOne(
  tx: Transaction<Tables>,
  { fact, companyId }: CompanyFact<Handled>,
  opener: Unsealer,
): Promise<void> {
  const update = (mailId: MailId, n: number | null, changes: Partial<MailRow>) => {
    const all = tx
      .updateTable("mails")
      .set(changes)
      .where("company_id", "=", companyId)
      .where("mail_id", "=", mailId)
    return (n === null ? all : all.where("n", "=", n)).execute()
  }
  const changed_at = new Date(fact.at)
  switch (fact.type) {
    case "MailAccepted": {
      const { recipients, from, at: sentAt, ...accepted } = fact
      const sender = await opener.unseal(companyId, from)
      const rows = recipients.map(async ({ recipientIndex, to }) => {
        const recipient = await opener.unseal(companyId, to)
        const row = { ...accepted, companyId, n: recipientIndex, sender, recipient }
        return MAILS.rowOf({ ...row, status: "open", sentAt, changedAt: sentAt })
      })
      await MAILS.insert(tx, await Promise.all(rows))
      return
    }
    case "MailDispatched":
      for (const { recipientIndex: n, result: status, code } of fact.outcomes) {
        await update(fact.mailId, n, { status, code, changed_at })
      }
      return
    case "MailRefused":
      await update(fact.mailId, null, { status: "refused", code: fact.code, changed_at })
      return
    case "MailBounced":
      await update(fact.mailId, fact.recipientIndex, {
        status: "returned",
        code: fact.code,
        changed_at,
      })
      return
  }
}

/** Lists the newest mails of a company, one row per recipient. */
export async function listMails(
  db: Kysely<Tables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly MailRow[]> {
  return db
    .selectFrom("mails")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("sent_at", "desc")
    .orderBy("mail_id", "desc")
    .orderBy("n")
    .limit(limit)
    .execute()
}

/** Returns the company of a mail; null if there is none. For reports from outside that only name the mail. */
export async function companyOfMail(db: Kysely<Tables>, mailId: MailId): Promise<CompanyId | null> {
  const found = db.selectFrom("mails").select("company_id").where("mail_id", "=", mailId).limit(1)
  return (await found.executeTakeFirst())?.company_id ?? null
}
