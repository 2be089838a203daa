/**
 * Read model `messages`: texts in both directions, as callers list them.
 *
 * `created_at` is assigned here in global order: the event's time, or 1 ms after the company's newest message if
 * that is later. So a reader who asks for rows after the newest seen one never misses any, and a rebuild gives the
 * same times (docs/decisions/api.md).
 */
import type { Transaction, Kysely } from "kysely"
import { sql } from "kysely"
import type { CompanyId, KeyId } from "../../domain/kernel/ids.ts"
import type { MessageId, NumberId } from "../../domain/phone/ids.ts"
import type { RecipientFact } from "../../domain/phone/recipient-events.ts"
import { sqlArray, unnestRows } from "../kernel/columns.ts"
import type { Unsealer } from "../kernel/projection.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  instantColumn,
  integerColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

type MessageStatus = "queued" | "sent" | "delivered" | "failed" | "received"

const MESSAGES = defineTable(
  "messages",
  {
    company_id: textColumn<CompanyId>(),
    message_id: textColumn<MessageId>(),
    number_id: textColumn<NumberId>(),
    direction: textColumn<"in" | "out">(),
    from_number: nullableColumn(textColumn()),
    to_number: nullableColumn(textColumn()),
    body: nullableColumn(textColumn()),
    media: integerColumn(),
    status: textColumn<MessageStatus>(),
    error_code: nullableColumn(textColumn()),
    key_id: nullableColumn(textColumn<KeyId>()),
    charge_id: nullableColumn(textColumn()),
    created_at: instantColumn(),
  },
  ["company_id", "message_id"],
  "unique (company_id, created_at)",
)

/** A text; numbers and body are null once erased. */
export type MessageRow = RowOf<typeof MESSAGES>

const MESSAGE_NUMBERS = defineTable(
  "message_numbers",
  {
    company_id: textColumn<CompanyId>(),
    number_id: textColumn<NumberId>(),
    number: nullableColumn(textColumn()),
  },
  ["company_id", "number_id"],
)

type NumberNameRow = RowOf<typeof MESSAGE_NUMBERS>

type MessageTables = RowsOf<typeof MESSAGES | typeof MESSAGE_NUMBERS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof MESSAGES | typeof MESSAGE_NUMBERS> {}
}

const TEXT_FACTS = [
  "TextQueued",
  "TextReceived",
  "TextAccepted",
  "TextDelivered",
  "TextRejected",
  "TextUndelivered",
] as const

/** The read model `messages`. */
export const messagesReadModel = defineReadModel({
  name: "messages",
  version: 2,
  on: ["CompanyErased", "NumberAdded", ...TEXT_FACTS],
  ...tablesOf(MESSAGES, MESSAGE_NUMBERS),
  personalTables: ["messages", "message_numbers"],
  apply: async (tx: Transaction<MessageTables>, facts, opener) => {
    let batch = new MessageBatch(tx, opener)
    // The next event only applies to texts written before it.
    const writeBefore = async (change: () => Promise<unknown>) => {
      await batch.write()
      await change()
      batch = new MessageBatch(tx, opener)
    }
    for (const { fact, companyId: company } of facts) {
      if (fact.type === "CompanyErased") {
        await writeBefore(() => eraseTexts(tx, fact.companyId))
      } else if (company === null) {
        continue
      } else if (fact.type === "NumberAdded") {
        const number = await opener.unseal(company, fact.number)
        const row = { company_id: company, number_id: fact.numberId, number }
        await writeBefore(() => tx.insertInto("message_numbers").values(row).execute())
      } else batch.take(company, fact)
    }
    await batch.write()
  },
})

type StatusChange = Pick<MessageRow, "company_id" | "message_id" | "status" | "error_code">

interface Text {
  readonly company: CompanyId
  readonly fact: RecipientFact<"TextQueued" | "TextReceived">
}

const messageKey = (company: CompanyId, id: MessageId | NumberId) => `${company} ${id}`

/** Collects the texts of a batch, so that a text that is queued and sent in one batch is written once. */
class MessageBatch {
  readonly #tx: Transaction<MessageTables>
  readonly #opener: Unsealer
  readonly #texts: Text[] = []
  /** By text; the last change wins. */
  readonly #changes = new Map<string, StatusChange>()

  constructor(tx: Transaction<MessageTables>, opener: Unsealer) {
    this.#tx = tx
    this.#opener = opener
  }

  take(company: CompanyId, fact: RecipientFact<(typeof TEXT_FACTS)[number]>): void {
    switch (fact.type) {
      case "TextQueued":
      case "TextReceived":
        this.#texts.push({ company, fact })
        return undefined
      case "TextAccepted":
        return this.#change(company, fact.messageId, "sent", null)
      case "TextDelivered":
        return this.#change(company, fact.messageId, "delivered", null)
      case "TextRejected":
      case "TextUndelivered":
        return this.#change(company, fact.messageId, "failed", fact.errorCode)
    }
  }

  async write(): Promise<void> {
    if (this.#texts.length > 0) await this.#writeTexts(this.#texts)
    await MESSAGES.update(this.#tx, ["status", "error_code"], [...this.#changes.values()])
  }

  #change(
    company_id: CompanyId,
    message_id: MessageId,
    status: MessageStatus,
    error_code: string | null,
  ): void {
    const change = { company_id, message_id, status, error_code }
    this.#changes.set(messageKey(company_id, message_id), change)
  }

  async #writeTexts(texts: readonly Text[]): Promise<void> {
    const newest = await newestMessages(this.#tx, texts)
    const numbers = await ownNumbers(this.#tx, texts)
    const rows = texts.map(async ({ company, fact }): Promise<MessageRow> => {
      // `createdAt` is assigned in event order, before the first await.
      const createdAt = Math.max(fact.at, (newest.get(company) ?? 0) + 1)
      newest.set(company, createdAt)
      const key = messageKey(company, fact.messageId)
      const { status, error_code } = this.#changes.get(key) ?? initialStatusOf(fact)
      this.#changes.delete(key)
      const own = numbers.get(messageKey(company, fact.numberId)) ?? null
      const [other, body] = await Promise.all([
        this.#opener.unseal(company, fact.type === "TextQueued" ? fact.to : fact.from),
        this.#opener.unseal(company, fact.body),
      ])
      return {
        company_id: company,
        message_id: fact.messageId,
        number_id: fact.numberId,
        ...directionColumnsOf(fact, own, other),
        body,
        status,
        error_code,
        created_at: new Date(createdAt),
      }
    })
    await MESSAGES.insert(this.#tx, await Promise.all(rows))
  }
}

function initialStatusOf({ type }: Text["fact"]): Pick<MessageRow, "status" | "error_code"> {
  return { status: type === "TextQueued" ? "queued" : "received", error_code: null }
}

/** The columns that depend on the direction; `own` is the company's number, `other` the recipient's. */
function directionColumnsOf(fact: Text["fact"], own: string | null, other: string | null) {
  if (fact.type === "TextReceived") {
    const { media } = fact
    const numbers = { direction: "in" as const, from_number: other, to_number: own }
    return { ...numbers, media, key_id: null, charge_id: null }
  }
  const { keyId: key_id, chargeId: charge_id } = fact
  const numbers = { direction: "out" as const, from_number: own, to_number: other }
  return { ...numbers, media: 0, key_id, charge_id }
}

async function eraseTexts(tx: Transaction<MessageTables>, company: CompanyId): Promise<void> {
  const nothing = sql`from_number = null, to_number = null, body = null`
  await sql`update messages set ${nothing} where company_id = ${company}`.execute(tx)
  await sql`update message_numbers set number = null where company_id = ${company}`.execute(tx)
}

/** The times of each company's newest message, UTC milliseconds. */
async function newestMessages(
  tx: Transaction<MessageTables>,
  texts: readonly Text[],
): Promise<Map<CompanyId, number>> {
  const companies = [...new Set(texts.map(({ company }) => company))]
  const { rows } = await sql<Pick<MessageRow, "company_id" | "created_at">>`
    select newest.company_id, newest.created_at
    from unnest(${sqlArray("text", companies)}) as asked (company_id)
    cross join lateral (
      select company_id, created_at from messages
      where messages.company_id = asked.company_id order by created_at desc limit 1
    ) as newest`.execute(tx)
  return new Map(rows.map(({ company_id, created_at }) => [company_id, created_at.getTime()]))
}

async function ownNumbers(
  tx: Transaction<MessageTables>,
  texts: readonly Text[],
): Promise<ReadonlyMap<string, string | null>> {
  const requested = new Map(
    texts.map(({ company: company_id, fact: { numberId: number_id } }) => {
      return [messageKey(company_id, number_id), { company_id, number_id }]
    }),
  )
  const columns = { company_id: "text", number_id: "text" } as const
  const { rows } = await sql<NumberNameRow>`
    select company_id, number_id, number from message_numbers
    join ${unnestRows(columns, [...requested.values()], "requested")}
      using (company_id, number_id)`.execute(tx)
  return new Map(rows.map((row) => [messageKey(row.company_id, row.number_id), row.number]))
}

/** Selects the newest messages between two instants, both exclusive. */
interface MessagesQuery {
  readonly companyId: CompanyId
  readonly since: Date | null
  readonly before: Date | null
  readonly limit: number
}

/** Lists the selected messages, oldest first. */
export async function listMessages(
  db: Kysely<MessageTables>,
  { companyId, since, before, limit }: MessagesQuery,
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

/** Finds an outgoing message, with its company and recipient; null if there is none. */
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

/** Finds a message of a company in either direction, with both numbers; null if there is none. */
export async function findCompanyMessage(
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
