/** Findings of `doctor`, and how they are printed. */
import { escapeForTerminalOutput } from "./terminal.ts"
import type { Kysely } from "kysely"
import type { ReadModelTables } from "../../../../projections/kernel/table.ts"
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { SettingsReader } from "../../settings.ts"

/** One finding of `doctor`. */
export interface DoctorFinding {
  readonly check: string
  /** `missing`: needed for a part of the work only; `scarce`: it may run out. */
  readonly state: "ok" | "missing" | "scarce" | "wrong"
  readonly says: string
  /** How to fix it; null if nothing is wrong. */
  readonly fix: string | null
}

/** Prints findings, one per line, with the fix after an arrow. */
export function renderFindings(findings: readonly DoctorFinding[]): string {
  const wide = (names: readonly string[]) => Math.max(...names.map((name) => name.length)) + 2
  const [states, checks] = [findings.map(({ state }) => state), findings.map(({ check }) => check)]
  return findings
    .map(({ check, state, says, fix }) => {
      const prefix = `${state.padEnd(wide(states))}${check.padEnd(wide(checks))}`
      const text = fix === null ? says : `${says} -> ${fix}`
      return `${prefix}${escapeForTerminalOutput(text).replaceAll("\n", " ")}\n`
    })
    .join("")
}

/** Creates a finding without a fault. */
export const okFinding = (check: string, says: string): DoctorFinding => ({
  check,
  state: "ok",
  says,
  fix: null,
})

/**
 * Where `doctor` reads stored data: from the running server by operations, from the read models of a database
 * without a server, or nowhere if the database does not run.
 */
export type DoctorStore =
  /** @throws Error if the server does not answer, or rejects the request */
  | { readonly ask: (operation: string, input: object) => Promise<unknown> }
  | { readonly readAll: Kysely<ReadModelTables> }
  | null

/** The installation that `doctor` checks. */
export interface DoctorContext {
  readonly settings: SettingsReader
  readonly dataDir: string
  readonly stored: DoctorStore
  /** The machine's own clock. */
  readonly pacer: Pacer
}
