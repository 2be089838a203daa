/**
 * How many boxes of a company run at once.
 *
 * Stream `boxes-<companyId>`. A slot is taken before a box is charged and freed when it has ended, or
 * nothing came of it: of two that are started at once for the last slot, one is refused.
 */
import type { CheckpointForm, Decider, Stamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, time } from "../kernel/format.ts"
import type { BoxId } from "./ids.ts"
import { boxId } from "./ids.ts"

/** How many boxes each plan has at once (specification, "Box limits"). */
export const BOXES_OF_PLAN = { payg: 2, "29": 5, "79": 10, "197": 25, "329": 50 } as const

/** Everything that can happen to the slots of a company. */
export const slotFormats = {
  /** A box that is about to be started has one. */
  SlotTaken: { version: 1, fields: { at: time, boxId } },
  /** It is another box's to take. */
  SlotFreed: { version: 1, fields: { at: time, boxId } },
} satisfies FormatTable

/** Everything that can happen to the slots of a company. */
export type SlotEvent = FactOf<typeof slotFormats>

/** Writes and reads the facts about slots. */
export const slotCodec = codecOf(slotFormats)

/** Takes a slot for a box. One that has one: nothing new. */
export interface TakeSlot {
  readonly type: "TakeSlot"
  readonly boxId: BoxId
  /** How many the company's plan has. */
  readonly most: number
}

/** Frees the slot of a box. One that has none: nothing new. */
export interface FreeSlot {
  readonly type: "FreeSlot"
  readonly boxId: BoxId
}

/** What can be asked of the slots. */
export type SlotCommand = TakeSlot | FreeSlot

/** A slot was refused. */
export interface SlotRefused {
  readonly type: "SlotRefused"
  readonly at: number
  readonly code: "too_many_boxes"
  readonly message: string
}

/** The boxes that have a slot. Only the functions of this file look inside. */
export interface Slots {
  readonly taken: Set<BoxId>
}

/** The rules of slots. */
export const slots: Decider<SlotCommand, Slots, SlotEvent, SlotRefused> = {
  initial: () => ({ taken: new Set() }),
  decide,
  evolve: (state, { type, boxId: one }) => {
    if (type === "SlotTaken") state.taken.add(one)
    else state.taken.delete(one)
    return state
  },
}

function decide(
  command: SlotCommand,
  { taken }: Slots,
  { at }: Stamp,
): readonly SlotEvent[] | SlotRefused {
  const { boxId: one } = command
  switch (command.type) {
    case "TakeSlot":
      if (taken.has(one)) return []
      if (taken.size >= command.most) {
        const message = `The plan has ${command.most} boxes at once; stop one first.`
        return { type: "SlotRefused", at, code: "too_many_boxes", message }
      }
      return [{ type: "SlotTaken", at, boxId: one }]
    case "FreeSlot":
      return taken.has(one) ? [{ type: "SlotFreed", at, boxId: one }] : []
    default:
      return unreachable(command)
  }
}

/** The boxes that have a slot. */
export function boxesWithSlot({ taken }: Slots): readonly BoxId[] {
  return [...taken]
}

/** How the slots are kept beside their stream. */
export const slotCheckpoint: CheckpointForm<Slots> = {
  shape: 1,
  save: boxesWithSlot,
  load: (saved) => ({ taken: new Set(saved as BoxId[]) }),
}
