/** Notes of a company, which are not there: their stream and their read model. */
import type { Transaction } from "kysely"
import { streamOf } from "../../domain/kernel/aggregate.ts"
import type { Decider } from "../../domain/kernel/decider.ts"
import type { FactOf, FormatTable } from "../../domain/kernel/format.ts"
import { codecOf, plain, time } from "../../domain/kernel/format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { ofCompanies } from "../../projections/kernel/projection.ts"

const formats = {
  NoteTaken: { version: 1, fields: { at: time, name: plain, text: plain } },
} satisfies FormatTable
type NoteTaken = FactOf<typeof formats>

declare module "../../domain/kernel/facts.ts" {
  interface FactsByCategory {
    readonly notes: NoteTaken
  }
}

interface TakeNote {
  readonly type: "TakeNote"
  readonly name: string
  readonly text: string
}
type NoteRefused = { readonly type: "NoteRefused"; readonly at: number; readonly code: "taken" }

const notes: Decider<TakeNote, Set<string>, NoteTaken, NoteRefused> = {
  initial: () => new Set(),
  decide: ({ name, text }, known, { at }) =>
    known.has(name)
      ? { type: "NoteRefused", at, code: "taken" }
      : [{ type: "NoteTaken", at, name, text }],
  evolve: (known, { name }) => known.add(name),
}

/** The notes of a company. */
export const NOTES = { category: "notes" as const, decider: notes, codec: codecOf(formats) }
/** The stream of a company's notes. */
export const notesOf = (companyId: CompanyId) => streamOf(NOTES, companyId)

/** What notes there are, by their names. */
export const shownNotes: Projection = {
  name: "notes",
  version: 1,
  categories: ["notes"],
  tables: ["notes"],
  create: `
    create table notes (
      company_id text not null,
      name text not null,
      text text not null,
      primary key (company_id, name)
    )`,
  apply: async (
    tx: Transaction<{ notes: { company_id: string; name: string; text: string } }>,
    all,
  ) => {
    for (const { fact, companyId: company_id } of ofCompanies(all)) {
      if (fact.type !== "NoteTaken") continue
      await tx
        .insertInto("notes")
        .values({ company_id, name: fact.name, text: fact.text })
        .execute()
    }
  },
}
