/**
 * What a read model is: tables folded from facts, in one file with its row types, what it makes of
 * each fact, and its queries.
 *
 * The runner (adapters/postgres/projector) reads the facts, opens one transaction a batch, lets the
 * read model write and stores the position in the same transaction. A read model's tables have no
 * schema in their names: the runner decides where they live, so that the same code builds a second
 * copy beside the live one. Each table has a `company_id` (row-level security stands on it), no
 * generated ids and no time but that of facts: folding again must give the same rows.
 */
import type { Transaction } from "kysely"
import { sql } from "kysely"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { CompanyId, KeyId, PersonId, SealedText } from "../../domain/kernel/ids.ts"

/** The name of a type of fact. */
export type FactType = AnyFact["type"]

/** The facts of some types. */
export type FactOfType<T extends FactType> = Extract<AnyFact, { readonly type: T }>

/** A fact as a read model sees it. */
export interface ProjectedFact<F extends AnyFact = AnyFact> {
  readonly stream: string
  /** The stream's name up to its first dash. */
  readonly category: string
  /** The stream's company; null for streams of the whole installation. */
  readonly companyId: CompanyId | null
  readonly revision: number
  readonly fact: F
  /** Whose command it was. */
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly actor: string | null
  /** The trace in which it was done, where somebody collects traces: what follows from it is part of it. */
  readonly trace?: string
}

/** A fact of a company's stream. */
export interface CompanyFact<F extends AnyFact = AnyFact> extends ProjectedFact<F> {
  readonly companyId: CompanyId
}

/** The facts that are of companies' streams: the others belong to the whole installation. */
export function companyFacts<F extends AnyFact>(
  facts: readonly ProjectedFact<F>[],
): readonly CompanyFact<F>[] {
  return facts.filter((recorded): recorded is CompanyFact<F> => recorded.companyId !== null)
}

/** Those of the facts of companies' streams that are of one type. */
export function companyFactsOfType<F extends AnyFact, T extends F["type"]>(
  facts: readonly ProjectedFact<F>[],
  type: T,
): readonly CompanyFact<FactOfType<T>>[] {
  return companyFacts<AnyFact>(facts).filter(
    (one): one is CompanyFact<FactOfType<T>> => one.fact.type === type,
  )
}

/** Opens sealed text for a read model; null where its key was erased. */
export interface Unsealer {
  readonly unseal: (companyId: CompanyId, sealed: SealedText) => Promise<string | null>
}

/** The facts that the runner hands to a read model. */
export interface FactSelection {
  /** Categories of the streams that it reads. */
  readonly categories: readonly string[]
  /**
   * Types of facts in these streams that the runner skips without a transaction. The runner hands over
   * types that are not named here, so an unknown type of a newer program stops the read model.
   */
  readonly ignoredTypes?: readonly string[]
}

/** A read model as the runner keeps it up. */
export interface Projection extends FactSelection {
  readonly name: string
  /** Raised when its tables or what it makes of facts change: it is then built anew. */
  readonly version: number
  /** How long its facts may gather before they are written, milliseconds; nobody who waits for them waits so long. */
  readonly bufferMs?: number
  /** Its tables, each with a `company_id`. */
  readonly tables: readonly string[]
  /**
   * Those of its tables in which personal text stands in the clear. Where a company was erased
   * (`CompanyErased`) it is taken out of them; folding anew finds it unreadable.
   */
  readonly personalTables?: readonly string[]
  /** SQL that makes the tables, without schema. */
  readonly create: string
  /** SQL that makes what is missing of the indexes that only lists use; made once all was folded. */
  readonly createIndexes?: string
  /** Writes what a batch of facts means, in their order. */
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
  /** The types of facts that it handles. Its categories follow from them, and it ignores all other types. */
  readonly on: readonly FactType[]
}

/** What an erased company loses of each table: these columns become null, or all its rows go. */
type ErasureRules = Readonly<Record<string, readonly string[] | "rows">>

/**
 * Declares a read model whose `apply` gets facts of the types in `on` and no others. Of `erased` it is
 * `personal`, and takes out what it names where a company was erased.
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
  const applyOwn: Projection["apply"] = (tx, facts, opener) =>
    declared.apply(tx, facts as readonly ProjectedFact<FactOfType<On>>[], opener)
  if (erased === undefined) return { ...declared, apply: applyOwn }
  return {
    ...declared,
    on: [...declared.on, "CompanyErased"],
    personalTables: Object.keys(erased),
    apply: async (tx, facts, opener) => {
      let from = 0
      for (const [i, { fact }] of facts.entries()) {
        if (fact.type !== "CompanyErased") continue
        if (i > from) await applyOwn(tx, facts.slice(from, i), opener)
        await erase(tx, erased, fact.companyId)
        from = i + 1
      }
      if (from < facts.length) await applyOwn(tx, facts.slice(from), opener)
    },
  }
}

async function erase(
  tx: Parameters<Projection["apply"]>[0],
  erased: ErasureRules,
  companyId: CompanyId,
): Promise<void> {
  for (const [name, columns] of Object.entries(erased)) {
    const [table, its] = [sql.table(name), sql`where company_id = ${companyId}`]
    if (columns === "rows") await sql`delete from ${table} ${its}`.execute(tx)
    else {
      const blank = sql.join(columns.map((column) => sql`${sql.id(column)} = null`))
      await sql`update ${table} set ${blank} ${its}`.execute(tx)
    }
  }
}
