/** What `doctor` finds, and how it is printed. */
import { escapeForTerminalOutput } from "./terminal.ts"
import type { Kysely } from "kysely"
import type { ReadModelTables } from "../../../../projections/kernel/table.ts"
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { SettingsReader } from "../../settings.ts"

/** What `doctor` found at one place. */
export interface DoctorFinding {
  readonly check: string
  /** `missing`: something that only some of the work needs; `scarce`: it may run out. */
  readonly state: "ok" | "missing" | "scarce" | "wrong"
  readonly says: string
  /** What mends it; null where nothing has to be. */
  readonly fix: string | null
}

/** What `doctor` found: a line each, with the fix behind an arrow. */
export function renderFindings(findings: readonly DoctorFinding[]): string {
  const wide = (names: readonly string[]) => Math.max(...names.map((name) => name.length)) + 2
  const [states, checks] = [findings.map(({ state }) => state), findings.map(({ check }) => check)]
  return findings
    .map(({ check, state, says, fix }) => {
      const place = `${state.padEnd(wide(states))}${check.padEnd(wide(checks))}`
      const text = fix === null ? says : `${says} -> ${fix}`
      return `${place}${escapeForTerminalOutput(text).replaceAll("\n", " ")}\n`
    })
    .join("")
}

/** A finding that all is well. */
export const okFinding = (check: string, says: string): DoctorFinding => ({
  check,
  state: "ok",
  says,
  fix: null,
})

/**
 * Where `doctor` finds what is stored: at the server that runs, which it asks by operations; in the read
 * models of a database that runs without one; nowhere, where what there is does not run.
 */
export type DoctorStore =
  /** @throws Error where the server does not answer, or refuses */
  | { readonly ask: (operation: string, input: object) => Promise<unknown> }
  | { readonly readAll: Kysely<ReadModelTables> }
  | null

/** The installation that `doctor` looks at. */
export interface DoctorContext {
  readonly settings: SettingsReader
  readonly dataDir: string
  readonly stored: DoctorStore
  /** This machine's own time. */
  readonly pacer: Pacer
}
