/**
 * Every event type, by stream category. Each slice adds its own by declaration merging, so that there is no central
 * list.
 */

/** Events by stream category. */
// Slices add to it.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface FactsByCategory {}

export type StreamCategory = keyof FactsByCategory

/** Every event of the domain. */
export type AnyFact = FactsByCategory[StreamCategory]
