/**
 * What the built-in stand-ins for outside things share: what they do next, as an operator or a test
 * sets it, and a memory for what they took.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** Every stand-in and the outcomes it knows beside `ok`, `unavailable`, `silent` and `slow`. */
export const STAND_INS = {
  carrier: ["reject", "undelivered", "taken"],
  mail: ["bounce", "refuse"],
  cards: ["declined", "payment_failed", "needs_owner", "processing", "unconfirmed"],
} as const satisfies Record<string, readonly string[]>

/** The name of a stand-in. */
export type StandInName = keyof typeof STAND_INS

/** Outcomes every stand-in knows. */
export const COMMON_OUTCOMES = ["ok", "unavailable", "silent", "slow"] as const

/** What one stand-in does next. */
export interface StandInSetting {
  readonly name: StandInName
  readonly outcome: string
  /** How many more times; null for ever. Then `ok` again. */
  readonly times: number | null
}

/** Keeps what the stand-ins do next. */
export interface StandIns {
  /** What this stand-in does now; counts one time down. */
  readonly next: (name: StandInName) => Promise<string>
  readonly set: (setting: StandInSetting) => Promise<void>
  readonly list: () => Promise<readonly StandInSetting[]>
}

/** Things of one kind that a simulator remembers. */
export interface SimulatedKind {
  readonly provider: StandInName
  /** What they are, in the singular: `text`. */
  readonly kind: string
  /** Whether they hold nothing of a company but its money, and stay when it is erased; default no. */
  readonly lasting?: boolean
}

/** A thing that a simulator remembers. */
export interface Simulated<T> {
  readonly name: string
  readonly companyId: CompanyId
  readonly content: T
  /** When it came first, by the ledger's time. */
  readonly at: Date
}

/**
 * What a simulator remembers of one kind of thing: each by a name of its own, once for all processes.
 * A content is what JSON can hold, and personal text in it is sealed: what is not goes with the
 * company's rows when that is erased, and is in every backup before.
 */
export interface SimulatedThings<T> {
  /** Remembers a thing, unless one of its name is known; answers what is known from now on. */
  readonly keep: (name: string, companyId: CompanyId, content: T) => Promise<T>
  /** What is known by a name; null where nothing is. */
  readonly find: (name: string) => Promise<T | null>
  /**
   * Changes what is known by a name; nobody else changes it in between. `change` is given what is known
   * (null: nothing) and may be asked again; where it gives the same object, nothing is written.
   */
  readonly change: (
    name: string,
    companyId: CompanyId,
    change: (known: T | null) => T,
  ) => Promise<T>
  /** Forgets a thing, if it is known. */
  readonly forget: (name: string) => Promise<void>
  /** The newest things of a company, or of all (null), in the order they came first in. */
  readonly newest: (companyId: CompanyId | null, limit: number) => Promise<readonly Simulated<T>[]>
}

/** The memory of all simulators. */
export interface SimulatorMemory {
  readonly of: <T extends object>(kind: SimulatedKind) => SimulatedThings<T>
}
