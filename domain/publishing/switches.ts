/**
 * Whether there is publishing: an operator turns it off and on, for all companies or for one. What is queued
 * goes on, and what is live stays.
 *
 * Stream `publishing`: an operator's clicks.
 */
import type { Decider, Stamp } from "../kernel/decider.ts"
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, flag, optional, time } from "../kernel/format.ts"
import { id } from "../kernel/id-kinds.ts"
import type { CompanyId } from "../kernel/ids.ts"

/** Everything that can happen to the switches. */
export const switchFormats = {
  /** Publishing was turned off or on; for all companies where none is named. */
  PublishingSwitched: {
    version: 1,
    fields: { at: time, companyId: optional(id.company), isOn: flag },
  },
} satisfies FormatTable

/** Everything that can happen to the switches. */
export type SwitchEvent = FactOf<typeof switchFormats>

/** Writes and reads the facts of the switches. */
export const switchCodec = codecOf(switchFormats)

/** Turns publishing off or on. As it is already: nothing new. */
export interface TurnPublishing {
  readonly type: "TurnPublishing"
  /** Null for all companies. */
  readonly companyId: CompanyId | null
  readonly isOn: boolean
}

/** Where publishing is off. Only the functions of this file look inside. */
export interface Switches {
  isOffForAll: boolean
  readonly offFor: Set<CompanyId>
}

/** The rules of the switches. */
export const switches: Decider<TurnPublishing, Switches, SwitchEvent> = {
  initial: () => ({ isOffForAll: false, offFor: new Set() }),
  decide: ({ companyId, isOn }, state, { at }: Stamp) => {
    const wasOff = companyId === null ? state.isOffForAll : state.offFor.has(companyId)
    return wasOff === isOn ? [{ type: "PublishingSwitched", at, companyId, isOn }] : []
  },
  evolve: (state, { companyId, isOn }) => {
    if (companyId === null) state.isOffForAll = !isOn
    else if (isOn) state.offFor.delete(companyId)
    else state.offFor.add(companyId)
    return state
  },
}

/** Whether a company can publish. */
export const isOnFor =
  (companyId: CompanyId) =>
  ({ isOffForAll, offFor }: Switches): boolean =>
    !isOffForAll && !offFor.has(companyId)
