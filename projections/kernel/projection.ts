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
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { CompanyId, KeyId, PersonId, Sealed } from "../../domain/kernel/ids.ts"

/** A fact as a read model sees it. */
export interface Recorded {
  readonly stream: string
  /** The stream's name up to its first dash. */
  readonly category: string
  /** The stream's company; null for streams of the whole installation. */
  readonly companyId: CompanyId | null
  readonly revision: number
  readonly fact: AnyFact
  /** Whose command it was. */
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly actor: string | null
  /** The trace in which it was done, where somebody collects traces: what follows from it is part of it. */
  readonly trace?: string
}

/** A fact of a company's stream. */
export interface CompanyRecorded extends Recorded {
  readonly companyId: CompanyId
}

/** The facts that are of companies' streams: the others belong to the whole installation. */
export function ofCompanies(facts: readonly Recorded[]): readonly CompanyRecorded[] {
  return facts.filter((recorded): recorded is CompanyRecorded => recorded.companyId !== null)
}

/** Those of the facts of companies' streams that are of one type. */
export function ofType<T extends AnyFact["type"]>(
  facts: readonly Recorded[],
  type: T,
): readonly (CompanyRecorded & { readonly fact: Extract<AnyFact, { readonly type: T }> })[] {
  return ofCompanies(facts).filter(
    (one): one is ReturnType<typeof ofType<T>>[number] => one.fact.type === type,
  )
}

/** Opens sealed text for a read model; null where its key was erased. */
export interface Opener {
  readonly open: (companyId: CompanyId, sealed: Sealed) => Promise<string | null>
}

/** The facts that spending leaves in a ledger: by far the most of them. */
export const SPENDING_FACTS: readonly string[] = [
  "ApiCallsCounted",
  "ChargeReduced",
  "Charged",
  "ChargesSettled",
]

/** A read model. `DB` names its tables and their rows. */
export interface Projection {
  readonly name: string
  /** Raised when its tables or what it makes of facts change: it is then built anew. */
  readonly version: number
  /** Categories of streams it reads. */
  readonly categories: readonly string[]
  /**
   * Types of facts in these streams that change none of its rows: they pass it by without a
   * transaction. A type that is not named here is handed over, also one that nobody knows.
   */
  readonly ignores?: readonly string[]
  /** How long its facts may gather before they are written, milliseconds; nobody who waits for them waits so long. */
  readonly gathersMs?: number
  /** Its tables, each with a `company_id`. */
  readonly tables: readonly string[]
  /**
   * Those of its tables in which personal text stands in the clear. Where a company was erased
   * (`CompanyErased`) it is taken out of them; folding anew finds it unreadable.
   */
  readonly personal?: readonly string[]
  /** SQL that makes the tables, without schema. */
  readonly create: string
  /** SQL that makes what is missing of the indexes that only lists use; made once all was folded. */
  readonly createIndexes?: string
  /** Writes what a batch of facts means, in their order. */
  readonly apply: (
    // The runner does not know the tables; each read model gives the transaction its own type.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    tx: Transaction<any>,
    facts: readonly Recorded[],
    opener: Opener,
  ) => Promise<void>
}
