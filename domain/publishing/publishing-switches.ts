/**
 * Whether there is publishing: an operator turns it off and on, for all companies or for one. What is queued
 * goes on, and what is live stays.
 *
 * Stream `publishing`: an operator's clicks.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, optional, instant } from "../kernel/event-format.ts"
import { id } from "../kernel/id-field-types.ts"
import type { CompanyId } from "../kernel/ids.ts"

/** Everything that can happen to the switches. */
export const publishingSwitchFormats = {
  /** Publishing was turned off or on; for all companies where none is named. */
  PublishingSwitched: {
    version: 1,
    fields: { at: instant, companyId: optional(id.company), isOn: flag },
  },
} satisfies EventFormats

/** Everything that can happen to the switches. */
export type PublishingSwitchEvent = FactOf<typeof publishingSwitchFormats>

/** Writes and reads the facts of the switches. */
export const publishingSwitchCodec = codecOf(publishingSwitchFormats)

/** Turns publishing off or on. As it is already: nothing new. */
export interface SwitchPublishing {
  readonly type: "SwitchPublishing"
  /** Null for all companies. */
  readonly companyId: CompanyId | null
  readonly isOn: boolean
}

/** Where publishing is off. Only the functions of this file look inside. */
export interface PublishingSwitches {
  isOffForAll: boolean
  readonly offFor: Set<CompanyId>
}

/** The rules of the switches. */
export const publishingSwitchesDecider: Decider<
  SwitchPublishing,
  PublishingSwitches,
  PublishingSwitchEvent
> = {
  initial: () => ({ isOffForAll: false, offFor: new Set() }),
  decide: ({ companyId, isOn }, state, { at }: DecisionStamp) => {
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
export const isPublishingEnabled =
  (companyId: CompanyId) =>
  ({ isOffForAll, offFor }: PublishingSwitches): boolean =>
    !isOffForAll && !offFor.has(companyId)
