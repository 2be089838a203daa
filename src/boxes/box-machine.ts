/** A machine that boxes run on, as those know it who look after it. */

/** What those can do who look after it. */
export interface BoxMachine {
  /** Takes away what crashes left. */
  readonly sweep: () => Promise<readonly unknown[]>
}
