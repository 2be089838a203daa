/**
 * How many boxes or calls of a company run at once, and how often one caller calls.
 *
 * A slot is taken before its holder is charged or offered and freed when it has ended, or nothing came of it: of
 * two that start at once for the last slot, one is refused.
 */
import type { CheckpointFormat, Decider } from "./decider.ts"
import { unreachable } from "./decider.ts"
import type { FactOf, EventFormats, FieldType } from "./event-format.ts"
import { codecOf, optional, instant } from "./event-format.ts"
import { idFieldType } from "./id-field-types.ts"
import type { KeyedHash } from "./ids.ts"
import { parseKeyedHash } from "./ids.ts"

/** A caller within a company, in the forms of facts: the keyed hash of the number. */
export const callerTag = idFieldType("a keyed hash", parseKeyedHash)

/** How often one caller may take a slot within the window. */
export interface CallerLimit {
  readonly tag: KeyedHash
  readonly maxSlots: number
}

/** Takes a slot. A holder that has one, or took one within its caller's window: nothing new. */
export interface ReserveSlot<H extends string> {
  readonly type: "ReserveSlot"
  readonly holderId: H
  /** How many the company has. */
  readonly maxSlots: number
  /** Null where callers are not counted. */
  readonly caller: CallerLimit | null
}

/** Frees a slot. A holder that has none: nothing new. */
export interface ReleaseSlot<H extends string> {
  readonly type: "ReleaseSlot"
  readonly holderId: H
}

/** What can be asked of slots. */
export type SlotCommand<H extends string> = ReserveSlot<H> | ReleaseSlot<H>

/** A slot was refused: the company has no more, or the caller called too often. */
export interface SlotRefused {
  readonly type: "SlotRefused"
  readonly at: number
  readonly code: "company_limit" | "caller_limit"
}

interface RecentReservation<H> {
  readonly holderId: H
  readonly callerTag: KeyedHash
  readonly at: number
}

/** The holders that have a slot, and those that callers took lately. Only the functions of this file look inside. */
export interface Slots<H> {
  readonly holders: Set<H>
  recent: readonly RecentReservation<H>[]
}

function formatsOf<H extends string>(holderId: FieldType<H>) {
  return {
    /** A holder that is about to start has one. */
    SlotTaken: {
      version: 1,
      fields: { at: instant, holderId, callerTag: optional(callerTag) },
    },
    /** It is another holder's to take. */
    SlotFreed: { version: 1, fields: { at: instant, holderId } },
  } satisfies EventFormats
}

/** Everything that can happen to slots. */
export type SlotEvent<H extends string> = FactOf<ReturnType<typeof formatsOf<H>>>

/** The rules and forms of the slots of one kind of holder; a caller's window is `windowMs` milliseconds. */
export function defineSlots<H extends string>(holderId: FieldType<H>, windowMs: number) {
  const decider: Decider<SlotCommand<H>, Slots<H>, SlotEvent<H>, SlotRefused> = {
    initial: () => ({ holders: new Set(), recent: [] }),
    decide: (command, { holders, recent }, { at }) =>
      decide(command, { holders, recent: inWindow(recent, at, windowMs) }, at),
    evolve: (state, event) => {
      if (event.type === "SlotFreed") {
        state.holders.delete(event.holderId)
        return state
      }
      const { at, holderId: one, callerTag: tag } = event
      state.holders.add(one)
      if (tag === null) return state
      state.recent = [
        ...inWindow(state.recent, at, windowMs),
        { holderId: one, callerTag: tag, at },
      ]
      return state
    },
  }
  const checkpoint: CheckpointFormat<Slots<H>> = {
    version: 1,
    save: ({ holders, recent }) => ({ holders: [...holders], recent }),
    load: (saved) => {
      const { holders, recent } = saved as { holders: H[]; recent: RecentReservation<H>[] }
      return { holders: new Set(holders), recent }
    },
  }
  return { decider, codec: codecOf(formatsOf(holderId)), checkpoint }
}

/** Those that are not older than the window. */
function inWindow<H>(recent: Slots<H>["recent"], at: number, windowMs: number): Slots<H>["recent"] {
  return recent.filter((taken) => taken.at > at - windowMs)
}

/** Decides by those that callers took within the window. */
function decide<H extends string>(
  command: SlotCommand<H>,
  { holders, recent }: Slots<H>,
  at: number,
): readonly SlotEvent<H>[] | SlotRefused {
  const { holderId } = command
  switch (command.type) {
    case "ReserveSlot": {
      const { maxSlots, caller } = command
      if (holders.has(holderId) || recent.some((taken) => taken.holderId === holderId)) return []
      if (holders.size >= maxSlots) return { type: "SlotRefused", at, code: "company_limit" }
      const ofCaller = recent.filter((taken) => taken.callerTag === caller?.tag)
      if (caller !== null && ofCaller.length >= caller.maxSlots) {
        return { type: "SlotRefused", at, code: "caller_limit" }
      }
      return [{ type: "SlotTaken", at, holderId, callerTag: caller?.tag ?? null }]
    }
    case "ReleaseSlot":
      return holders.has(holderId) ? [{ type: "SlotFreed", at, holderId }] : []
    default:
      return unreachable(command)
  }
}

/** The holders that have a slot. */
export function slotHoldersOf<H extends string>({ holders }: Slots<H>): readonly H[] {
  return [...holders]
}
