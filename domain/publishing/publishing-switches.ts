/**
 * Switches that disable publishing, for all companies or for one. Queued publishes continue, and live ones stay.
 *
 * Stream `publishing`, written by operators.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, optional, instant } from "../kernel/event-format.ts"
import { id } from "../kernel/id-field-types.ts"
import type { CompanyId } from "../kernel/ids.ts"

/** The stored formats of the switches' events. */
export const publishingSwitchFormats = {
  /** Publishing was disabled or enabled; for all companies if there is no company id. */
  PublishingSwitched: {
    version: 1,
    fields: { at: instant, companyId: optional(id.company), isOn: flag },
  },
} satisfies EventFormats

export type PublishingSwitchEvent = FactOf<typeof publishingSwitchFormats>

export const publishingSwitchCodec = codecOf(publishingSwitchFormats)

/** Disables or enables publishing. Idempotent. */
export interface SwitchPublishing {
  readonly type: "SwitchPublishing"
  /** Null for all companies. */
  readonly companyId: CompanyId | null
  readonly isOn: boolean
}

/** The companies for which publishing is disabled. Only the functions of this file access the fields. */
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
