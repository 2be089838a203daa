/**
 * What the simulators share, the built-in providers: what they do next, as an operator or a test sets
 * it, and a memory for what they took.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** Outcomes that every simulator knows. */
export const COMMON_OUTCOMES = ["ok", "unavailable", "silent", "slow"] as const

/** A built-in provider that can be told to fail, and the outcomes it knows beside those of all. */
export interface Simulator<O extends string = string> {
  readonly name: string
  readonly outcomes: readonly O[]
}

/** What one simulator does next. */
export interface SimulatorSetting {
  readonly name: string
  readonly outcome: string
  /** How many more times; null for ever. Then `ok` again. */
  readonly times: number | null
}

/** Keeps what the simulators do next. */
export interface Simulators {
  /** What this simulator does now; counts one time down. */
  readonly nextOutcome: <O extends string>(
    simulator: Simulator<O>,
  ) => Promise<O | (typeof COMMON_OUTCOMES)[number]>
  readonly set: (setting: SimulatorSetting) => Promise<void>
  /** What stands; those that are not in it do what they should. */
  readonly list: () => Promise<readonly SimulatorSetting[]>
}

/** Things of one kind that a simulator remembers. */
export interface SimulatedRecordKind {
  /** The name of the simulator. */
  readonly provider: string
  /** What they are, in the singular: `text`. */
  readonly kind: string
  /** Whether they hold nothing of a company but its money, and stay when it is erased; default no. */
  readonly isPermanent?: boolean
}

/** A thing that a simulator remembers. */
export interface SimulatedRecord<T> {
  readonly name: string
  readonly companyId: CompanyId
  readonly content: T
  /** When it came first, by the ledger's time. */
  readonly createdAt: Date
}

/**
 * What a simulator remembers of one kind of thing: each by a name of its own, once for all processes.
 * A content is what JSON can hold, and personal text in it is sealed: what is not goes with the
 * company's rows when that is erased, and is in every backup before.
 */
export interface SimulatedRecords<T> {
  /** Remembers a thing, unless one of its name is known; answers what is known from now on. */
  readonly insertIfAbsent: (name: string, companyId: CompanyId, content: T) => Promise<T>
  /** What is known by a name; null where nothing is. */
  readonly find: (name: string) => Promise<T | null>
  /**
   * Changes what is known by a name; nobody else changes it in between. `change` is given what is known
   * (null: nothing) and may be asked again; where it gives the same object, nothing is written.
   */
  readonly update: (
    name: string,
    companyId: CompanyId,
    change: (known: T | null) => T,
  ) => Promise<T>
  /** Forgets a thing, if it is known. */
  readonly remove: (name: string) => Promise<void>
  /** The newest things of a company, or of all (null), in the order they came first in. */
  readonly listNewest: (
    companyId: CompanyId | null,
    limit: number,
  ) => Promise<readonly SimulatedRecord<T>[]>
}

/** The memory of all simulators. */
export interface SimulatorStore {
  readonly recordsOf: <T extends object>(kind: SimulatedRecordKind) => SimulatedRecords<T>
}
