/** The projections that are written once and never folded anew. */
import { work } from "../../projections/work.ts"

/** Their names: what follows from facts goes on behind their position, wherever the events are. */
export const HINTS: readonly string[] = [work.name]
