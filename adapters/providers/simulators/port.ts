/**
 * The parts that all simulators share: their next outcomes, set by an operator or a test, and a
 * store for their records.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** Outcomes that every simulator knows. */
export const COMMON_OUTCOMES = ["ok", "unavailable", "silent", "slow"] as const

/** A simulator, and the outcomes it knows in addition to the common ones. */
export interface Simulator<O extends string = string> {
  readonly name: string
  readonly outcomes: readonly O[]
}

/** The next outcomes of one simulator. */
export interface SimulatorSetting {
  readonly name: string
  readonly outcome: string
  /** How often the outcome still applies; null for always. Afterwards the outcome is `ok`. */
  readonly times: number | null
}

/** Stores the next outcomes of the simulators. */
export interface Simulators {
  /** Returns the simulator's next outcome and counts it. */
  readonly nextOutcome: <O extends string>(
    simulator: Simulator<O>,
  ) => Promise<O | (typeof COMMON_OUTCOMES)[number]>
  readonly set: (setting: SimulatorSetting) => Promise<void>
  /** Lists the settings; simulators that are missing have the outcome `ok`. */
  readonly list: () => Promise<readonly SimulatorSetting[]>
}

export interface SimulatedRecordKind {
  readonly provider: string
  /** The kind in the singular: `text`. */
  readonly kind: string
  /**
   * Whether the records hold nothing of a company but its money, so that they stay when it is
   * erased; default no.
   */
  readonly isPermanent?: boolean
}

export interface SimulatedRecord<T> {
  readonly name: string
  readonly companyId: CompanyId
  readonly content: T
  /** When the record was first stored, by the ledger's clock. */
  readonly createdAt: Date
}

/**
 * The records of one kind, unique by name across all processes. A content is JSON; seal personal
 * text in it, because unsealed text stays in earlier backups after the company's rows are erased.
 */
export interface SimulatedRecords<T> {
  /** Inserts a record unless its name exists; returns the stored content. */
  readonly insertIfAbsent: (name: string, companyId: CompanyId, content: T) => Promise<T>
  /** The content by name; null if there is none. */
  readonly find: (name: string) => Promise<T | null>
  /**
   * Changes a record atomically. `change` gets the stored content (null: none) and may run again;
   * if it returns the same object, nothing is written.
   */
  readonly update: (
    name: string,
    companyId: CompanyId,
    change: (known: T | null) => T,
  ) => Promise<T>
  /** Removes a record, if it exists. */
  readonly remove: (name: string) => Promise<void>
  /** The newest records of a company, or of all (null), oldest first. */
  readonly listNewest: (
    companyId: CompanyId | null,
    limit: number,
  ) => Promise<readonly SimulatedRecord<T>[]>
}

export interface SimulatorStore {
  readonly recordsOf: <T extends object>(kind: SimulatedRecordKind) => SimulatedRecords<T>
}
