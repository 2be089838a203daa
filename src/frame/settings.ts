/** Settings that a slice reads from the environment, as data: what they are, and what they exclude. */
import type { z } from "zod"

/** The environment as it was given: no variable that is empty. */
export type Given = Readonly<Record<string, string>>

/** Settings that belong together. */
export interface Settings<S extends z.ZodObject = z.ZodObject> {
  /** The module that exports it, by its `import.meta.url`: to show settings nothing else is loaded. */
  readonly from: string
  /** Each variable of the environment by its name; a complaint begins with `must`. */
  readonly schema: S
  /** Those whose values are never shown. */
  readonly secret?: readonly string[]
  /** What cannot stand beside one another, or beside other settings: a sentence each. */
  readonly faults?: (given: Given) => readonly string[]
}

/** Checks settings where they are written. */
export function settings<S extends z.ZodObject>(spec: Settings<S>): Settings<S> {
  return spec
}

/** Reads settings of a slice. They were checked at the start. */
export type ReadSettings = <S extends z.ZodObject>(of: Settings<S>) => z.output<S>

/** Reads settings from an environment. */
export function settingsIn(given: Given): ReadSettings {
  return ({ schema }) => schema.parse(given)
}
