/** What the built-in stand-ins for outside things do next, as an operator or a test sets it. */

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
