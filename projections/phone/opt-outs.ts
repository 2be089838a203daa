/**
 * Read model `opt-outs`: recipients who opted out or opted in again. One row per recipient: a STOP takes precedence
 * over an opt-out that the company added.
 */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import type { RecipientTag } from "../../domain/phone/ids.ts"
import { parseKeyedHash } from "../../domain/kernel/ids.ts"
import { streamSuffixOf } from "../../domain/kernel/aggregate.ts"
import type { RecipientFact } from "../../domain/phone/recipient-events.ts"
import { isOptedOut } from "../../domain/phone/recipient.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const OPT_OUTS = defineTable(
  "opt_outs",
  {
    company_id: textColumn<CompanyId>(),
    recipient: textColumn<RecipientTag>(),
    phone: nullableColumn(textColumn()),
    status: textColumn<"out" | "in">(),
    /** The keyword they texted; null if the company added it. */
    keyword: nullableColumn(textColumn()),
    source: textColumn<"text" | "api">(),
    changed_at: instantColumn(),
    /** The start of the present status. */
    since: instantColumn(),
  },
  ["company_id", "recipient"],
  "(company_id, changed_at)",
)

/** A recipient's opt-out; `phone` is null once erased. */
export type OptOutRow = RowOf<typeof OPT_OUTS>

type Tables = RowsOf<typeof OPT_OUTS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof OPT_OUTS> {}
}

const OPT_OUT_FACT_TYPES = [
  "OptedOutByText",
  "OptedInByText",
  "OptedOutAtCarrier",
  "OptOutAdded",
  "OptOutRemoved",
] as const

/** The read model `opt-outs`. */
export const optOutsReadModel = defineReadModel({
  name: "opt-outs",
  version: 2,
  on: OPT_OUT_FACT_TYPES,
  ...tablesOf(OPT_OUTS),
  erased: { opt_outs: ["phone"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId, stream } of facts) {
      const change = changeOf(fact)
      const recipient = recipientIn(stream)
      if (change === null || companyId === null || recipient === null) continue
      const phone = await opener.unseal(companyId, change.phone)
      const { keyword, source, status, at } = change
      const changed_at = new Date(at)
      const row = { phone, status, keyword, source, changed_at }
      await tx
        .insertInto("opt_outs")
        .values({ ...row, company_id: companyId, recipient, since: changed_at })
        .onConflict((conflict) =>
          conflict.columns(["company_id", "recipient"]).doUpdateSet((expression) => ({
            ...row,
            since: expression
              .case()
              .when("opt_outs.status", "=", status)
              .then(expression.ref("opt_outs.since"))
              .else(changed_at)
              .end(),
          })),
        )
        .execute()
    }
  },
})

function recipientIn(stream: string): RecipientTag | null {
  const suffix = streamSuffixOf(stream)
  return suffix === null ? null : parseKeyedHash(suffix)
}

interface Change {
  readonly phone: SealedText
  readonly status: "out" | "in"
  readonly keyword: string | null
  readonly source: "text" | "api"
  readonly at: number
}

/** What an event changes in the list; null for nothing. */
function changeOf(fact: RecipientFact<(typeof OPT_OUT_FACT_TYPES)[number]>): Change | null {
  const { at, optOuts: after } = fact
  const status = isOptedOut(after) ? "out" : "in"
  switch (fact.type) {
    case "OptedOutByText":
    case "OptedInByText":
      return { phone: fact.phone, status, keyword: fact.keyword, source: "text", at }
    case "OptedOutAtCarrier":
      return { phone: fact.phone, status, keyword: null, source: "text", at }
    case "OptOutAdded":
      // The list shows the STOP, which the company cannot undo.
      if (after.stoppedAt !== null) return null
      return { phone: fact.phone, status, keyword: null, source: "api", at }
    case "OptOutRemoved":
      return { phone: fact.phone, status, keyword: null, source: "api", at }
  }
}

/** Lists a company's opt-outs, last changed first. Runs as the API, which sees only its own company. */
export async function listOptOuts(
  db: Kysely<Tables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly OptOutRow[]> {
  return db
    .selectFrom("opt_outs")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("changed_at", "desc")
    .orderBy("recipient")
    .limit(limit)
    .execute()
}
