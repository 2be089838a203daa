/** What is asked of the read model `messages`. */
import type { Kysely } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { MessageId } from "../../domain/phone/ids.ts"
import type { MessageRow, MessageTables } from "./messages.ts"

/** Which messages are asked for: the newest of those between two instants, both left out. */
interface MessagesAsked {
  readonly companyId: CompanyId
  readonly since: Date | null
  readonly before: Date | null
  readonly limit: number
}

/** The newest messages of those asked for, oldest first. */
export async function listMessages(
  db: Kysely<MessageTables>,
  { companyId, since, before, limit }: MessagesAsked,
): Promise<readonly MessageRow[]> {
  let rows = db
    .selectFrom("messages")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("created_at", "desc")
    .limit(limit)
  if (since !== null) rows = rows.where("created_at", ">", since)
  if (before !== null) rows = rows.where("created_at", "<", before)
  return (await rows.execute()).toReversed()
}

/** Whose message it is and to whom it went; null where there is none of this id. */
export async function findMessage(
  db: Kysely<MessageTables>,
  messageId: MessageId,
): Promise<Pick<MessageRow, "company_id" | "to_number" | "status"> | null> {
  const row = await db
    .selectFrom("messages")
    .select(["company_id", "to_number", "status"])
    .where("message_id", "=", messageId)
    .where("direction", "=", "out")
    .executeTakeFirst()
  return row ?? null
}

/** A message of a company, of either direction, with both of its numbers; null where there is none of this id. */
export async function messageOf(
  db: Kysely<MessageTables>,
  companyId: CompanyId,
  messageId: MessageId,
): Promise<Pick<MessageRow, "direction" | "from_number" | "to_number"> | null> {
  const row = await db
    .selectFrom("messages")
    .select(["direction", "from_number", "to_number"])
    .where("company_id", "=", companyId)
    .where("message_id", "=", messageId)
    .executeTakeFirst()
  return row ?? null
}
