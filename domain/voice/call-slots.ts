/**
 * How many calls of a company run at once, and how often one caller calls.
 *
 * Stream `calls-<companyId>`. A slot is taken before a call is offered and freed when it has ended. A call
 * that gets none is rejected unanswered and costs nothing, so nobody can call a company's funds away.
 */
import type { CheckpointForm, Decider, Stamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, time } from "../kernel/format.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import type { TurnedAway } from "./call-events.ts"
import type { CallId } from "./ids.ts"
import { callId, callerTag } from "./ids.ts"

/** So many calls of a company run at once. */
export const MOST_AT_ONCE = 20
/** One caller has so many calls within the window. */
export const MOST_OF_ONE = 10
/** The window, milliseconds. */
export const WINDOW_MS = 10 * 60_000

/** Everything that can happen to the slots of a company. */
export const callSlotFormats = {
  /** A call that is about to be offered has one. */
  CallSlotTaken: { version: 1, fields: { at: time, callId, callerTag } },
  /** It is another call's to take. */
  CallSlotFreed: { version: 1, fields: { at: time, callId } },
} satisfies FormatTable

/** Everything that can happen to the slots of a company. */
export type CallSlotEvent = FactOf<typeof callSlotFormats>

/** Writes and reads the facts about slots. */
export const callSlotCodec = codecOf(callSlotFormats)

/** Takes a slot for a call. One that has one, or had one in the window: nothing new. */
export interface TakeCallSlot {
  readonly type: "TakeCallSlot"
  readonly callId: CallId
  readonly callerTag: KeyedHash
}

/** Frees the slot of a call. One that has none: nothing new. */
export interface FreeCallSlot {
  readonly type: "FreeCallSlot"
  readonly callId: CallId
}

/** What can be asked of the slots. */
export type CallSlotCommand = TakeCallSlot | FreeCallSlot

/** A slot was refused. */
export interface CallSlotRefused {
  readonly type: "CallSlotRefused"
  readonly at: number
  readonly code: Exclude<TurnedAway, "closed">
}

interface Taken {
  readonly callId: CallId
  readonly callerTag: KeyedHash
  readonly at: number
}

/** The calls that run, and those of the window. Only the functions of this file look inside. */
export interface CallSlots {
  readonly running: Set<CallId>
  recent: Taken[]
}

/** The rules of slots. */
export const callSlots: Decider<CallSlotCommand, CallSlots, CallSlotEvent, CallSlotRefused> = {
  initial: () => ({ running: new Set(), recent: [] }),
  decide,
  evolve,
}

function decide(
  command: CallSlotCommand,
  { running, recent }: CallSlots,
  { at }: Stamp,
): readonly CallSlotEvent[] | CallSlotRefused {
  const no = (code: CallSlotRefused["code"]) => ({ type: "CallSlotRefused", at, code }) as const
  const { callId: one } = command
  switch (command.type) {
    case "TakeCallSlot": {
      const inWindow = recent.filter((taken) => taken.at > at - WINDOW_MS)
      if (running.has(one) || inWindow.some((taken) => taken.callId === one)) return []
      if (running.size >= MOST_AT_ONCE) return no("too_many")
      const ofCaller = inWindow.filter((taken) => taken.callerTag === command.callerTag)
      if (ofCaller.length >= MOST_OF_ONE) return no("one_caller")
      return [{ ...command, type: "CallSlotTaken", at }]
    }
    case "FreeCallSlot":
      return running.has(one) ? [{ ...command, type: "CallSlotFreed", at }] : []
    default:
      return unreachable(command)
  }
}

function evolve(state: CallSlots, event: CallSlotEvent): CallSlots {
  if (event.type === "CallSlotFreed") {
    state.running.delete(event.callId)
    return state
  }
  const { type: _type, ...taken } = event
  state.running.add(taken.callId)
  state.recent = [...state.recent.filter(({ at }) => at > taken.at - WINDOW_MS), taken]
  return state
}

/** The calls that have a slot. */
export function callsWithSlot({ running }: CallSlots): readonly CallId[] {
  return [...running]
}

/** How the slots are kept beside their stream. */
export const callSlotCheckpoint: CheckpointForm<CallSlots> = {
  shape: 1,
  save: ({ running, recent }) => ({ running: [...running], recent }),
  load: (saved) => {
    const { running, recent } = saved as { running: CallId[]; recent: Taken[] }
    return { running: new Set(running), recent: [...recent] }
  },
}
