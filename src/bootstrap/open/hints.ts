/** The projections that are written once and never folded anew. */
import { FOLLOW_UPS, LATE_FOLLOW_UPS } from "../../../projections/kernel/follow-ups.ts"

/** Their names: what follows from facts goes on behind their position, wherever the events are. */
export const HINTS: readonly string[] = [FOLLOW_UPS, LATE_FOLLOW_UPS]
