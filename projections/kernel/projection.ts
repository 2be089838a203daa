/**
 * Read models: tables folded from events. One file has a read model's tables, row types, event handling and
 * queries.
 *
 * The runner (adapters/postgres/projector) reads events, opens one transaction per batch, lets the read model
 * write, and stores the position in the same transaction. Table names have no schema: the runner chooses it, so
 * that the same code can build a second copy next to the live one. Each table has a `company_id` for row-level
 * security, and no generated ids or times other than those of events, so that a rebuild gives the same rows.
 */
import type { Transaction } from "kysely"
import { sql } from "kysely"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { CompanyId, KeyId, PersonId, SealedText } from "../../domain/kernel/ids.ts"

/** The type name of an event. */
export type FactType = AnyFact["type"]

/** The events of some types. */
export type FactOfType<T extends FactType> = Extract<AnyFact, { readonly type: T }>

/** An event as a read model receives it. */
export interface ProjectedFact<F extends AnyFact = AnyFact> {
  readonly stream: string
  readonly category: string
  /** The stream's company; null for streams of the installation. */
  readonly companyId: CompanyId | null
  readonly revision: number
  readonly fact: F
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly actor: string | null
  /** The trace of the command, if traces are collected; jobs that follow from the event belong to it. */
  readonly trace?: string
}

/** An event of a company's stream. */
export interface CompanyFact<F extends AnyFact = AnyFact> extends ProjectedFact<F> {
  readonly companyId: CompanyId
}

/** Returns the events of companies' streams, without those of the installation. */
export function companyFacts<F extends AnyFact>(
  facts: readonly ProjectedFact<F>[],
): readonly CompanyFact<F>[] {
  return facts.filter((recorded): recorded is CompanyFact<F> => recorded.companyId !== null)
}

/** Returns the events of companies' streams that have the given type. */
export function companyFactsOfType<F extends AnyFact, T extends F["type"]>(
  facts: readonly ProjectedFact<F>[],
  type: T,
): readonly CompanyFact<FactOfType<T>>[] {
  return companyFacts<AnyFact>(facts).filter(
    (recorded): recorded is CompanyFact<FactOfType<T>> => recorded.fact.type === type,
  )
}

/** Unseals text for a read model; returns null if its key is destroyed. */
export interface Unsealer {
  readonly unseal: (companyId: CompanyId, sealed: SealedText) => Promise<string | null>
}

/** The events that the runner passes to a read model. */
export interface FactSelection {
  /** The categories of the streams that it reads. */
  readonly categories: readonly string[]
  /**
   * Types of events in these streams that the runner skips without a transaction. All other types are passed on, so
   * an unknown type of a newer program stops the read model.
   */
  readonly ignoredTypes?: readonly string[]
}

/** A read model as the runner maintains it. */
export interface Projection extends FactSelection {
  readonly name: string
  /** Raise it when the tables or the handling of events change: the read model is then rebuilt. */
  readonly version: number
  /**
   * How long its events may be buffered before they are written, in milliseconds; shorter than any caller waits for
   * them.
   */
  readonly bufferMs?: number
  readonly tables: readonly string[]
  /**
   * Its tables with personal text in clear. The text is removed when a company is erased (`CompanyErased`), and a
   * rebuild cannot unseal it.
   */
  readonly personalTables?: readonly string[]
  /** SQL that creates the tables, without schema. */
  readonly create: string
  /** SQL that creates missing indexes of lists, executed after a rebuild. */
  readonly createIndexes?: string
  /** Writes a batch of events, in order. */
  readonly apply: (
    // The runner does not know the tables; each read model gives the transaction its own type.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    tx: Transaction<any>,
    facts: readonly ProjectedFact[],
    opener: Unsealer,
  ) => Promise<void>
}

/** A read model as its file declares it. */
export interface ReadModel extends Omit<Projection, keyof FactSelection> {
  /** The types of events that it handles. Its categories derive from them, and all other types are ignored. */
  readonly on: readonly FactType[]
}

/** What is erased with a company, by table: these columns become null, or all its rows are deleted. */
type ErasureRules = Readonly<Record<string, readonly string[] | "rows">>

/**
 * Defines a read model whose `apply` receives only events of the types in `on`. The tables in `erased` are personal
 * and are cleared when a company is erased.
 */
export function defineReadModel<const On extends FactType>({
  erased,
  ...declared
}: Omit<ReadModel, "on" | "apply"> & {
  readonly on: readonly On[]
  readonly erased?: ErasureRules
  readonly apply: (
    tx: Parameters<Projection["apply"]>[0],
    facts: readonly ProjectedFact<FactOfType<On>>[],
    opener: Unsealer,
  ) => Promise<void>
}): ReadModel {
  // Sound because the runner skips every known type that `on` does not name.
  const applyTyped: Projection["apply"] = (tx, facts, opener) =>
    declared.apply(tx, facts as readonly ProjectedFact<FactOfType<On>>[], opener)
  if (erased === undefined) return { ...declared, apply: applyTyped }
  return {
    ...declared,
    on: [...declared.on, "CompanyErased"],
    personalTables: Object.keys(erased),
    apply: async (tx, facts, opener) => {
      let from = 0
      for (const [i, { fact }] of facts.entries()) {
        if (fact.type !== "CompanyErased") continue
        if (i > from) await applyTyped(tx, facts.slice(from, i), opener)
        await erase(tx, erased, fact.companyId)
        from = i + 1
      }
      if (from < facts.length) await applyTyped(tx, facts.slice(from), opener)
    },
  }
}

async function erase(
  tx: Parameters<Projection["apply"]>[0],
  erased: ErasureRules,
  companyId: CompanyId,
): Promise<void> {
  for (const [name, columns] of Object.entries(erased)) {
    const [table, ofCompany] = [sql.table(name), sql`where company_id = ${companyId}`]
    if (columns === "rows") await sql`delete from ${table} ${ofCompany}`.execute(tx)
    else {
      const blank = sql.join(columns.map((column) => sql`${sql.id(column)} = null`))
      await sql`update ${table} set ${blank} ${ofCompany}`.execute(tx)
    }
  }
}
