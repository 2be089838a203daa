/** Settings that a slice reads from the environment, as data: their schema and their conflicts. */
import type { z } from "zod"

/** The environment variables, without empty ones. */
export type Environment = Readonly<Record<string, string>>

export interface SettingsSpec<S extends z.ZodObject = z.ZodObject> {
  /** The `import.meta.url` of the exporting module: showing settings loads only that module. */
  readonly from: string
  /** The variables by name; each error message of the schema begins with `must`. */
  readonly schema: S
  /** Variables whose values are never shown. */
  readonly secret?: readonly string[]
  /** Returns a sentence for each conflict between these settings or with others. */
  readonly faults?: (given: Environment) => readonly string[]
}

/** Defines settings and checks their types. */
export function defineSettings<S extends z.ZodObject>(spec: SettingsSpec<S>): SettingsSpec<S> {
  return spec
}

/** Reads a slice's settings, which were checked at the start. */
export type SettingsReader = <S extends z.ZodObject>(of: SettingsSpec<S>) => z.output<S>

/** Creates a reader of settings from an environment. */
export function settingsReader(given: Environment): SettingsReader {
  return ({ schema }) => schema.parse(given)
}
