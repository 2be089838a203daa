/**
 * Slots limit how many boxes or calls of a company run concurrently, and how often one caller calls.
 *
 * A holder reserves its slot before it is charged and releases it when it ends or fails to start. If two holders
 * compete for the last slot, one is refused.
 */
import type { CheckpointFormat, Decider } from "./decider.ts"
import { unreachable } from "./decider.ts"
import type { FactOf, EventFormats, FieldType } from "./event-format.ts"
import { codecOf, optional, instant } from "./event-format.ts"
import { idFieldType } from "./id-field-types.ts"
import type { KeyedHash } from "./ids.ts"
import { parseKeyedHash } from "./ids.ts"

/** The field type of a caller's tag: the keyed hash of the number. */
export const callerTag = idFieldType("a keyed hash", parseKeyedHash)

/** How many slots one caller may reserve within the window. */
export interface CallerLimit {
  readonly tag: KeyedHash
  readonly maxSlots: number
}

/** Reserves a slot. Idempotent for a holder that has one or reserved one within its caller's window. */
export interface ReserveSlot<H extends string> {
  readonly type: "ReserveSlot"
  readonly holderId: H
  readonly maxSlots: number
  readonly caller: CallerLimit | null
}

/** Releases a slot. Idempotent. */
export interface ReleaseSlot<H extends string> {
  readonly type: "ReleaseSlot"
  readonly holderId: H
}

export type SlotCommand<H extends string> = ReserveSlot<H> | ReleaseSlot<H>

/** A slot was refused: the company has no free one, or the caller called too often. */
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

export interface Slots<H> {
  readonly holders: Set<H>
  recent: readonly RecentReservation<H>[]
}

function formatsOf<H extends string>(holderId: FieldType<H>) {
  return {
    SlotTaken: {
      version: 1,
      fields: { at: instant, holderId, callerTag: optional(callerTag) },
    },
    SlotFreed: { version: 1, fields: { at: instant, holderId } },
  } satisfies EventFormats
}

export type SlotEvent<H extends string> = FactOf<ReturnType<typeof formatsOf<H>>>

/**
 * Defines the decider, codec and checkpoint of one kind of holder. `windowMs` is a caller's window in milliseconds.
 */
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
      const { at, holderId: holder, callerTag: tag } = event
      state.holders.add(holder)
      if (tag === null) return state
      state.recent = [
        ...inWindow(state.recent, at, windowMs),
        { holderId: holder, callerTag: tag, at },
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

function inWindow<H>(recent: Slots<H>["recent"], at: number, windowMs: number): Slots<H>["recent"] {
  return recent.filter((reservation) => reservation.at > at - windowMs)
}

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
      const byCaller = recent.filter((taken) => taken.callerTag === caller?.tag)
      if (caller !== null && byCaller.length >= caller.maxSlots) {
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

/** Returns the holders of slots. */
export function slotHoldersOf<H extends string>({ holders }: Slots<H>): readonly H[] {
  return [...holders]
}
