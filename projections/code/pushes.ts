/** Read model `pushes`: the outcome of each push, for operators. */
import type { Kysely, Transaction } from "kysely"
import type { CodeFact, FoundRef, PushRefusalCode, PushId } from "../../domain/code/code-events.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Unsealer } from "../kernel/projection.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  instantColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"

const PUSHES = defineTable(
  "pushes",
  {
    company_id: textColumn<CompanyId>(),
    push_id: textColumn<PushId>(),
    revision: bigintColumn(),
    pushed_at: instantColumn(),
    person_id: nullableColumn(textColumn<PersonId>()),
    key_id: nullableColumn(textColumn<KeyId>()),
    /** `other`: the refs were read, and not all of them had moved as requested. */
    status: textColumn<"accepted" | "landed" | "other" | "refused">(),
    code: nullableColumn(textColumn<PushRefusalCode>()),
    /**
     * For a refusal, the lines that the pusher saw; otherwise one line per ref, with its actual movement if the
     * push was reconciled.
     */
    lines: nullableColumn(textColumn()),
    /** Keyed hashes of its refs, one per line. */
    tags: nullableColumn(textColumn()),
    objects: bigintColumn(),
    bytes: bigintColumn(),
  },
  ["company_id", "push_id"],
  "(company_id, revision)",
)

/** A push; `lines` is null once erased. */
export type PushRow = RowOf<typeof PUSHES>

type Tables = RowsOf<typeof PUSHES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof PUSHES> {}
}

/** The read model `pushes`. */
export const pushesReadModel = defineReadModel({
  name: "pushes",
  version: 2,
  on: ["PushAccepted", "PushRefused", "PushCompleted", "RefsReconciled"],
  ...tablesOf(PUSHES),
  erased: { pushes: ["lines"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId, revision } of facts) {
      if (companyId === null) continue
      if (fact.type === "PushAccepted") {
        const lines = await refsOf(opener, companyId, fact)
        const tags = fact.updates.map(({ refHash }) => refHash).join("\n")
        const row = { ...fact, companyId, revision, lines, tags, pushedAt: fact.at }
        await PUSHES.insert(tx, [PUSHES.rowOf({ ...row, status: "accepted" })])
      }
      if (fact.type === "PushRefused") {
        const lines =
          fact.shownLines === null ? null : await opener.unseal(companyId, fact.shownLines)
        const nothing = { tags: null, objects: 0, bytes: 0 }
        const row = { ...fact, ...nothing, companyId, revision, lines, pushedAt: fact.at }
        await PUSHES.insert(tx, [PUSHES.rowOf({ ...row, status: "refused" })])
      }
      if (fact.type === "PushCompleted") await setStatus(tx, companyId, fact.pushId, "landed")
      if (fact.type === "RefsReconciled" && fact.pushId !== null) {
        await setStatus(tx, companyId, fact.pushId, "other")
        await recordMoves(tx, companyId, fact.pushId, fact.refs)
      }
    }
  },
})

/** The refs that a push moves, one per line; null if the company's key is destroyed. */
async function refsOf(
  opener: Unsealer,
  companyId: CompanyId,
  { updates }: CodeFact<"PushAccepted">,
): Promise<string | null> {
  const lines: string[] = []
  for (const { ref, old, new: requested } of updates) {
    const name = await opener.unseal(companyId, ref)
    if (name === null) return null
    lines.push(`${name} ${shortId(old)}..${shortId(requested)}`)
  }
  return lines.join("\n")
}

const shortId = (id: string | null): string => id?.slice(0, 12) ?? "none"

async function setStatus(
  tx: Transaction<Tables>,
  companyId: CompanyId,
  pushId: PushId,
  status: PushRow["status"],
): Promise<void> {
  const row = tx.updateTable("pushes").set({ status }).where("company_id", "=", companyId)
  await row.where("push_id", "=", pushId).execute()
}

/** Adds to each ref's line whether it moved as requested; does nothing if the names were erased. */
async function recordMoves(
  tx: Transaction<Tables>,
  companyId: CompanyId,
  pushId: PushId,
  found: readonly FoundRef[],
): Promise<void> {
  const all = tx.selectFrom("pushes").selectAll().where("company_id", "=", companyId)
  const row = await all.where("push_id", "=", pushId).executeTakeFirst()
  if (row === undefined || row.lines === null || row.tags === null) return
  const tags = row.tags.split("\n")
  const lines = row.lines.split("\n").map((line, i) => {
    const actual = found.find(({ refHash }) => refHash === tags[i])
    const isAsRequested = actual !== undefined && line.endsWith(`..${shortId(actual.id)}`)
    return `${line} ${isAsRequested ? "moved" : actual === undefined ? "not seen to move" : `moved to ${shortId(actual.id)}`}`
  })
  const update = tx.updateTable("pushes").set({ lines: lines.join("\n") })
  await update.where("company_id", "=", companyId).where("push_id", "=", pushId).execute()
}

/** Lists the newest pushes of a company before a revision, newest first. */
export async function listPushes(
  db: Kysely<Tables>,
  companyId: CompanyId,
  before: number | null,
  limit: number,
): Promise<readonly PushRow[]> {
  const rows = db
    .selectFrom("pushes")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("revision", "desc")
    .limit(limit)
  return (before === null ? rows : rows.where("revision", "<", before)).execute()
}
