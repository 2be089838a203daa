/** Settings that a slice reads from the environment, as data: what they are, and what they exclude. */
import type { z } from "zod"

/** The environment as it was given: no variable that is empty. */
export type Environment = Readonly<Record<string, string>>

/** Settings that belong together. */
export interface SettingsSpec<S extends z.ZodObject = z.ZodObject> {
  /** The module that exports it, by its `import.meta.url`: to show settings nothing else is loaded. */
  readonly from: string
  /** Each variable of the environment by its name; a complaint begins with `must`. */
  readonly schema: S
  /** Those whose values are never shown. */
  readonly secret?: readonly string[]
  /** What cannot stand beside one another, or beside other settings: a sentence each. */
  readonly faults?: (given: Environment) => readonly string[]
}

/** Checks settings where they are written. */
export function defineSettings<S extends z.ZodObject>(spec: SettingsSpec<S>): SettingsSpec<S> {
  return spec
}

/** Reads settings of a slice. They were checked at the start. */
export type SettingsReader = <S extends z.ZodObject>(of: SettingsSpec<S>) => z.output<S>

/** Reads settings from an environment. */
export function settingsReader(given: Environment): SettingsReader {
  return ({ schema }) => schema.parse(given)
}
