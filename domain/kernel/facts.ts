/**
 * Every fact there is, by the category of the streams that it stands in. Each slice of the domain adds its
 * own by declaration merging, beside the rules of those streams: so no list of all facts is kept anywhere.
 */

/** Facts by category. */
// Slices add to it.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface FactsByCategory {}

/** The category of a stream. */
export type StreamCategory = keyof FactsByCategory

/** Every fact there is. */
export type AnyFact = FactsByCategory[StreamCategory]
