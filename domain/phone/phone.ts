/**
 * The phone of a company: its numbers, the settings of numbers and texting, and the enabled countries.
 *
 * Stream `phone-<companyId>`: manual changes and twelve rents per number and year. Conflicts, such as ordering a
 * number twice or releasing it while its rent is paid, are decided here.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import { destinationClass } from "../kernel/destinations.ts"
import type { NumberId } from "./ids.ts"
import type {
  ChangePhoneSettings,
  CompleteNumberOrder,
  FailNumberOrder,
  OrderNumber,
  PhoneCommand,
  PhoneRefusalCode,
  PhoneRefused,
  ReleaseNumber,
  SwitchDestination,
} from "./phone-commands.ts"
import { DEFAULT_TEXTING_SETTINGS } from "./phone-commands.ts"
import type { PhoneEvent } from "./phone-events.ts"
import type { HeldNumber, PhoneState } from "./phone-views.ts"
import { numberSettingsOf } from "./phone-views.ts"
import { RENT_GRACE_MS, addMonths, rentPaidThrough } from "./rent.ts"

const MAX_REMEMBERED_FAILURES = 200

/** The rules of a company's phone. */
export const phoneDecider: Decider<PhoneCommand, PhoneState, PhoneEvent, PhoneRefused> = {
  initial: () => ({
    numbers: new Map(),
    orders: new Map(),
    failed: new Map(),
    released: new Map(),
    settings: new Map(),
    texting: DEFAULT_TEXTING_SETTINGS,
    acknowledged: false,
    switched: new Map(),
    repliesAppliedAt: null,
    repliesRevision: -1,
    facts: 0,
    ended: 0,
  }),
  decide,
  evolve,
}

type Decision = readonly PhoneEvent[] | PhoneRefused

function decide(command: PhoneCommand, state: PhoneState, { at }: DecisionStamp): Decision {
  switch (command.type) {
    case "AddNumber": {
      const isKnown = isTaken(state, command.numberTag) || state.numbers.has(command.numberId)
      const bought = { boughtAt: at, carrierRef: null, givenLocality: null }
      return isKnown ? [] : [{ ...command, type: "NumberAdded", at, ...bought }]
    }
    case "OrderNumber":
      return order(command, state, at)
    case "CompleteNumberOrder":
      return complete(command, state, at)
    case "FailNumberOrder":
      return failOrder(command, state, at)
    case "PayRent": {
      const { numberId, dueAt } = command
      const held = state.numbers.get(numberId)
      if (held === undefined || held.paidThrough !== dueAt || at < dueAt) return []
      return [{ type: "RentPaid", at, numberId, through: rentPaidThrough(held.boughtAt, dueAt) }]
    }
    case "RefuseRent": {
      const { numberId, dueAt, code } = command
      const held = state.numbers.get(numberId)
      if (held?.paidThrough !== dueAt || held.refusedSince !== null || at < dueAt) return []
      return [{ type: "RentRefused", at, numberId, dueAt, code }]
    }
    case "ReleaseNumber":
      return release(command, state, at)
    case "ChangePhoneSettings":
      return changeSettings(command, state, at)
    case "SwitchDestination":
      return switchDestination(command, state, at)
    case "ApplyReplies": {
      const { revision } = command
      return revision <= state.repliesRevision ? [] : [{ type: "RepliesApplied", at, revision }]
    }
    default:
      return unreachable(command)
  }
}

function refused(at: number, code: PhoneRefusalCode, numberId: NumberId | null): PhoneRefused {
  return { type: "PhoneRefused", at, code, numberId }
}

function isTaken({ numbers, orders }: PhoneState, tag: string): boolean {
  const known = [...numbers.values(), ...orders.values()]
  return known.some(({ numberTag }) => numberTag === tag)
}

function order(command: OrderNumber, state: PhoneState, at: number): Decision {
  const { numberId, numberTag } = command
  if (state.failed.has(numberId)) return refused(at, "order_failed", numberId)
  if (state.orders.has(numberId) || state.numbers.has(numberId)) return []
  if (state.released.has(numberId)) return []
  if (isTaken(state, numberTag)) return refused(at, "number_taken", numberId)
  return [{ ...command, type: "NumberOrdered", at }]
}

/** The month that was paid with the order starts with the order. */
function complete(command: CompleteNumberOrder, state: PhoneState, at: number): Decision {
  const { numberId, carrierRef, locality, sms, mms, voice } = command
  const ordered = state.orders.get(numberId)
  if (ordered === undefined) return []
  const { number, numberTag, kind, monthlyMicros, givenLocality, at: boughtAt } = ordered
  const paidThrough = addMonths(boughtAt, 1)
  const region = command.region ?? ordered.region
  return [
    {
      type: "NumberAdded",
      at,
      numberId,
      number,
      numberTag,
      kind,
      locality,
      givenLocality,
      region,
      monthlyMicros,
      sms,
      mms,
      voice,
      paidThrough,
      boughtAt,
      carrierRef,
      // Only the number that came with the company is a test number (docs/decisions/phone.md).
      test: false,
    },
  ]
}

function failOrder({ numberId, reason }: FailNumberOrder, state: PhoneState, at: number): Decision {
  const { orders, numbers, failed, released } = state
  const isKnown = [numbers, failed, released].some((known) => known.has(numberId))
  if (isKnown || (reason === "abandoned" && orders.has(numberId))) return []
  return [{ type: "NumberOrderFailed", at, numberId, reason }]
}

function release(command: ReleaseNumber, state: PhoneState, at: number): Decision {
  const { numberId, reason, keyId, personId } = command
  const held = state.numbers.get(numberId)
  if (held === undefined) return refused(at, "no_such_number", numberId)
  const { refusedSince, carrierRef } = held
  const isGraceOver = refusedSince !== null && at >= refusedSince + RENT_GRACE_MS
  if (reason === "rent" && !isGraceOver) return refused(at, "in_grace", numberId)
  return [{ type: "NumberReleased", at, numberId, reason, carrierRef, keyId, personId }]
}

/** All or nothing: an unknown number or an unconfirmed recording refuses the whole command. */
function changeSettings(command: ChangePhoneSettings, state: PhoneState, at: number): Decision {
  const { texting, numbers, acknowledgesRecording, keyId, personId } = command
  const unknown = numbers.find(({ numberId }) => !state.numbers.has(numberId))
  if (unknown !== undefined) return refused(at, "no_such_number", unknown.numberId)
  const recorded = numbers.find(({ settings }) => settings.recordCalls === true)
  if (recorded !== undefined && !state.acknowledged && !acknowledgesRecording) {
    return refused(at, "not_acknowledged", recorded.numberId)
  }
  const actor = { keyId, personId }
  const facts: PhoneEvent[] = []
  if (acknowledgesRecording && !state.acknowledged) {
    facts.push({ type: "RecordingAcknowledged", at, ...actor })
  }
  const changed = numbers.filter(({ settings }) => Object.keys(settings).length > 0)
  const isTextingChanged = Object.keys(texting).length > 0
  if (changed.length === 0 && !isTextingChanged) return facts
  facts.push({
    type: "PhoneSettingsChanged",
    at,
    ...actor,
    texting: isTextingChanged ? { ...state.texting, ...texting } : null,
    numbers: changed.map(({ numberId, settings }) => ({
      numberId,
      settings: { ...numberSettingsOf(state, numberId), ...settings },
    })),
  })
  return facts
}

function switchDestination(command: SwitchDestination, state: PhoneState, at: number): Decision {
  const { country, on, by, keyId, personId } = command
  const destination = destinationClass(country)
  if (destination === "never") return refused(at, "never_on", null)
  if (by === "company" && destination !== "self_serve") return refused(at, "contact_support", null)
  if (destination === "always") return refused(at, "always_on", null)
  if ((state.switched.get(country) ?? false) === on) return []
  return [{ type: "DestinationSwitched", at, country, on, by, keyId, personId }]
}

function evolve(state: PhoneState, event: PhoneEvent): PhoneState {
  state.facts += 1
  switch (event.type) {
    case "NumberOrdered": {
      const { type: _type, ...ordered } = event
      state.orders.set(event.numberId, ordered)
      return state
    }
    case "NumberOrderFailed":
      state.orders.delete(event.numberId)
      state.ended += 1
      state.failed.set(event.numberId, event.reason)
      for (const known of state.failed.keys()) {
        if (state.failed.size > MAX_REMEMBERED_FAILURES) state.failed.delete(known)
      }
      return state
    case "NumberAdded": {
      const { type: _type, at: _at, ...number } = event
      state.orders.delete(event.numberId)
      state.ended += 1
      state.numbers.set(event.numberId, { ...number, refusedSince: null })
      return state
    }
    case "RentPaid":
      return changeNumber(state, event.numberId, { paidThrough: event.through, refusedSince: null })
    case "RentRefused":
      return changeNumber(state, event.numberId, { refusedSince: event.at })
    case "NumberReleased": {
      const held = state.numbers.get(event.numberId)
      if (held !== undefined) {
        state.released.set(event.numberId, { number: held.number, test: held.test })
      }
      state.numbers.delete(event.numberId)
      state.settings.delete(event.numberId)
      return state
    }
    case "PhoneSettingsChanged":
      if (event.texting !== null) state.texting = event.texting
      for (const { numberId, settings } of event.numbers) state.settings.set(numberId, settings)
      return state
    case "RecordingAcknowledged":
      state.acknowledged = true
      return state
    case "DestinationSwitched":
      state.switched.set(event.country, event.on)
      return state
    case "RepliesApplied":
      state.repliesAppliedAt = event.at
      state.repliesRevision = event.revision
      return state
    default:
      return unreachable(event)
  }
}

function changeNumber(
  state: PhoneState,
  numberId: NumberId,
  changes: Partial<HeldNumber>,
): PhoneState {
  const held = state.numbers.get(numberId)
  if (held !== undefined) state.numbers.set(numberId, { ...held, ...changes })
  return state
}

type Entries<M> = M extends Map<infer K, infer V> ? readonly (readonly [K, V])[] : never

type Saved = {
  readonly [K in keyof PhoneState]: PhoneState[K] extends Map<unknown, unknown>
    ? Entries<PhoneState[K]>
    : PhoneState[K]
}

/** The checkpoint format of a company's phone. */
export const phoneCheckpoint: CheckpointFormat<PhoneState> = {
  version: 2,
  save: (state): Saved => ({
    ...state,
    numbers: [...state.numbers],
    orders: [...state.orders],
    failed: [...state.failed],
    released: [...state.released],
    settings: [...state.settings],
    switched: [...state.switched],
  }),
  load: (saved) => {
    const entries = saved as Saved
    return {
      ...entries,
      numbers: new Map(entries.numbers),
      orders: new Map(entries.orders),
      failed: new Map(entries.failed),
      released: new Map(entries.released),
      settings: new Map(entries.settings),
      switched: new Map(entries.switched),
    }
  },
}
