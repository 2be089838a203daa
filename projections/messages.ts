/**
 * Read model `messages`: texts in both directions, as callers list them.
 *
 * `created_at` is given here, in global order: the fact's time, or 1 ms after the company's newest
 * message where that is later. So a reader who asks for rows after the newest it has seen never
 * loses one, and folding again gives the same (decisions.md §7).
 */
import type { Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { RecipientEvent, TextQueued, TextReceived } from "../domain/phone/recipient-events.ts"
import type { Opener, Projection } from "./projection.ts"

/** How far a text has come, as callers see it. */
export type MessageStatus = "queued" | "sent" | "delivered" | "failed" | "received"

/** A text; what a company or a person wrote is null once erased. */
export interface MessageRow {
  readonly company_id: string
  readonly message_id: string
  readonly number_id: string
  readonly direction: "in" | "out"
  readonly from_number: string | null
  readonly to_number: string | null
  readonly body: string | null
  readonly media: number
  readonly status: MessageStatus
  readonly error_code: string | null
  readonly key_id: string | null
  readonly charge_id: string | null
  readonly created_at: Date
}

interface NumberNameRow {
  readonly company_id: string
  readonly number_id: string
  readonly number: string | null
}

/** The tables of the read model. */
export interface MessageTables {
  messages: MessageRow
  message_numbers: NumberNameRow
}

/** The read model. */
export const messages: Projection = {
  name: "messages",
  version: 2,
  categories: ["companies", "phone", "recipient"],
  tables: ["messages", "message_numbers"],
  personal: ["messages", "message_numbers"],
  create: `
    create table messages (
      company_id text not null,
      message_id text not null,
      number_id text not null,
      direction text not null,
      from_number text,
      to_number text,
      body text,
      media integer not null,
      status text not null,
      error_code text,
      key_id text,
      charge_id text,
      created_at timestamptz not null,
      primary key (company_id, message_id)
    );
    create unique index on messages (company_id, created_at);
    create table message_numbers (
      company_id text not null,
      number_id text not null,
      number text,
      primary key (company_id, number_id)
    )`,
  apply: async (tx: Transaction<MessageTables>, facts, opener) => {
    let batch = new Batch(tx, opener)
    for (const { fact, category, companyId } of facts) {
      const company = companyId ?? ""
      if (fact.type === "CompanyErased") {
        await batch.write()
        await eraseTexts(tx, fact.companyId)
        batch = new Batch(tx, opener)
      } else if (fact.type === "NumberAdded") {
        const number = await opener.open(company, fact.number)
        const row = { company_id: company, number_id: fact.numberId, number }
        await tx.insertInto("message_numbers").values(row).execute()
      } else if (category === "recipient") {
        await batch.take(company, fact as RecipientEvent)
      }
    }
    await batch.write()
  },
}

interface StatusChange {
  readonly company: string
  readonly id: string
  readonly status: MessageStatus
  readonly errorCode: string | null
}

/** Gathers a batch's rows, so that a text queued and sent in one batch is written once. */
class Batch {
  readonly #tx: Transaction<MessageTables>
  readonly #opener: Opener
  readonly #rows = new Map<string, MessageRow>()
  readonly #changes: StatusChange[] = []
  readonly #newest = new Map<CompanyId, number>()
  readonly #numbers = new Map<string, string | null>()

  constructor(tx: Transaction<MessageTables>, opener: Opener) {
    this.#tx = tx
    this.#opener = opener
  }

  async take(company: CompanyId, fact: RecipientEvent): Promise<void> {
    switch (fact.type) {
      case "TextQueued":
        return this.#queued(company, fact)
      case "TextReceived":
        return this.#received(company, fact)
      case "TextAccepted":
        return this.#change({ company, id: fact.messageId, status: "sent", errorCode: null })
      case "TextDelivered":
        return this.#change({ company, id: fact.messageId, status: "delivered", errorCode: null })
      case "TextRejected":
      case "TextUndelivered": {
        const { messageId: id, errorCode } = fact
        return this.#change({ company, id, status: "failed", errorCode })
      }
      case "TextAbandoned":
      case "OptedOutByText":
      case "OptedInByText":
      case "OptOutAdded":
      case "OptOutRemoved":
        return undefined
    }
  }

  async write(): Promise<void> {
    if (this.#rows.size > 0) await insertMessages(this.#tx, [...this.#rows.values()])
    if (this.#changes.length > 0) await changeStatuses(this.#tx, this.#changes)
  }

  async #queued(company: CompanyId, fact: TextQueued): Promise<void> {
    const [to, body] = await Promise.all([
      this.#opener.open(company, fact.to),
      this.#opener.open(company, fact.body),
    ])
    this.#rows.set(`${company} ${fact.messageId}`, {
      company_id: company,
      message_id: fact.messageId,
      number_id: fact.numberId,
      direction: "out",
      from_number: await this.#number(company, fact.numberId),
      to_number: to,
      body,
      media: 0,
      status: "queued",
      error_code: null,
      key_id: fact.keyId,
      charge_id: fact.chargeId,
      created_at: new Date(await this.#createdAt(company, fact.at)),
    })
  }

  async #received(company: CompanyId, fact: TextReceived): Promise<void> {
    const [from, body] = await Promise.all([
      this.#opener.open(company, fact.from),
      this.#opener.open(company, fact.body),
    ])
    this.#rows.set(`${company} ${fact.messageId}`, {
      company_id: company,
      message_id: fact.messageId,
      number_id: fact.numberId,
      direction: "in",
      from_number: from,
      to_number: await this.#number(company, fact.numberId),
      body,
      media: fact.media,
      status: "received",
      error_code: null,
      key_id: null,
      charge_id: null,
      created_at: new Date(await this.#createdAt(company, fact.at)),
    })
  }

  #change(change: StatusChange): void {
    const place = `${change.company} ${change.id}`
    const row = this.#rows.get(place)
    if (row === undefined) this.#changes.push(change)
    else this.#rows.set(place, { ...row, status: change.status, error_code: change.errorCode })
  }

  async #createdAt(company: CompanyId, at: number): Promise<number> {
    const newest = this.#newest.get(company) ?? (await newestMessage(this.#tx, company))
    const created = Math.max(at, newest + 1)
    this.#newest.set(company, created)
    return created
  }

  async #number(company: CompanyId, numberId: string): Promise<string | null> {
    const known = this.#numbers.get(numberId)
    if (known !== undefined) return known
    const row = await this.#tx
      .selectFrom("message_numbers")
      .select("number")
      .where("company_id", "=", company)
      .where("number_id", "=", numberId)
      .executeTakeFirst()
    const number = row?.number ?? null
    this.#numbers.set(numberId, number)
    return number
  }
}

async function eraseTexts(tx: Transaction<MessageTables>, company: CompanyId): Promise<void> {
  const nothing = sql`from_number = null, to_number = null, body = null`
  await sql`update messages set ${nothing} where company_id = ${company}`.execute(tx)
  await sql`update message_numbers set number = null where company_id = ${company}`.execute(tx)
}

async function newestMessage(tx: Transaction<MessageTables>, company: CompanyId): Promise<number> {
  const row = await tx
    .selectFrom("messages")
    .select("created_at")
    .where("company_id", "=", company)
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst()
  return row?.created_at.getTime() ?? 0
}

async function insertMessages(
  tx: Transaction<MessageTables>,
  rows: readonly MessageRow[],
): Promise<void> {
  await sql`
    insert into messages
    select * from unnest(
      ${rows.map((row) => row.company_id)}::text[],
      ${rows.map((row) => row.message_id)}::text[],
      ${rows.map((row) => row.number_id)}::text[],
      ${rows.map((row) => row.direction)}::text[],
      ${rows.map((row) => row.from_number)}::text[],
      ${rows.map((row) => row.to_number)}::text[],
      ${rows.map((row) => row.body)}::text[],
      ${rows.map((row) => row.media)}::integer[],
      ${rows.map((row) => row.status)}::text[],
      ${rows.map((row) => row.error_code)}::text[],
      ${rows.map((row) => row.key_id)}::text[],
      ${rows.map((row) => row.charge_id)}::text[],
      ${rows.map((row) => row.created_at)}::timestamptz[])`.execute(tx)
}

/** Later changes win: they come last in the batch, and are applied in its order. */
async function changeStatuses(
  tx: Transaction<MessageTables>,
  changes: readonly StatusChange[],
): Promise<void> {
  const last = [...new Map(changes.map((one) => [`${one.company} ${one.id}`, one])).values()]
  await sql`
    update messages set status = changed.status, error_code = changed.error_code
    from unnest(
      ${last.map((one) => one.company)}::text[],
      ${last.map((one) => one.id)}::text[],
      ${last.map((one) => one.status)}::text[],
      ${last.map((one) => one.errorCode)}::text[]
    ) as changed (company_id, message_id, status, error_code)
    where messages.company_id = changed.company_id
      and messages.message_id = changed.message_id`.execute(tx)
}
