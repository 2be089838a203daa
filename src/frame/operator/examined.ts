/** What `doctor` has of an installation that it looks at, which may run or not. */
import type { Kysely } from "kysely"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import type { ReadSettings } from "../settings.ts"

/**
 * Where `doctor` finds what is stored: at the server that runs, which it asks by operations; in the read
 * models of a database that runs without one; nowhere, where what there is does not run.
 */
export type Stored =
  /** @throws Error where the server does not answer, or refuses */
  | { readonly ask: (operation: string, input: object) => Promise<unknown> }
  // Each query names the tables it needs.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  | { readonly readAll: Kysely<any> }
  | null

/** The installation that `doctor` looks at. */
export interface Examined {
  readonly settings: ReadSettings
  readonly dataDir: string
  readonly stored: Stored
  /** This machine's own time. */
  readonly pacer: Pacer
}
