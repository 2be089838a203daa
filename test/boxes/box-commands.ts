/** A box to be asked one command after the other, and commands as tests mostly want them. */
import fc from "fast-check"
import type { BoxCommand, StartBox } from "../../domain/boxes/box-commands.ts"
import { box, boxOf } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { Sealed } from "../../domain/kernel/ids.ts"
import type { SlotCommand } from "../../domain/kernel/slots.ts"
import { asking } from "../support/spec.ts"

/** The box that all of it is about. */
export const BOX_ID = "box_0001"

/** Who does something in it. */
export const WHO = { keyId: "key_0001", personId: "per_0001" } as const

const sealed = (text: string): Sealed => `s1.per_0001.${text}` as Sealed

/** Starts a box; with what is asked for otherwise. */
export function startBox(asked: Partial<StartBox> = {}): StartBox {
  return {
    type: "StartBox",
    boxId: BOX_ID,
    chargeId: "chg_0001",
    ...WHO,
    size: "medium",
    branch: sealed("main"),
    label: null,
    maxMinutes: 60,
    idleMinutes: 15,
    budgetMicros: null,
    unitPriceMicros: 4_000,
    priceVersion: 1,
    ...asked,
  }
}

/** Opens a port. */
export function openPreview(port: number): BoxCommand {
  const [token, tag] = [sealed(`t${port}`), "0".repeat(64)]
  return { type: "OpenPreview", boxId: BOX_ID, port, token, tag, ...WHO }
}

/** A full minute, with what was seen of the box. */
export function tickBox(
  minute: number,
  activities = 0,
  { isBusy = false, isKeyGood = true } = {},
): BoxCommand {
  const signs = { activities, isBusy }
  return { type: "TickBox", boxId: BOX_ID, minute, signs, isKeyGood }
}

/** Stops it, as its person does. */
export const STOP: BoxCommand = { type: "StopBox", boxId: BOX_ID, reason: "stopped", ...WHO }

/** A box that answers commands with facts, or with the code of a refusal. */
export function oneBox() {
  const one = asking(box)
  return { ...one, view: () => boxOf(one.state()) }
}

const startCommand = fc.constantFrom<BoxCommand>(startBox(), startBox({ maxMinutes: 3 }))
const restCommand = fc.oneof(
  fc.constantFrom<BoxCommand>(
    STOP,
    openPreview(3_000),
    openPreview(3_001),
    { type: "AbandonBox", boxId: BOX_ID },
    { type: "RunBox", boxId: BOX_ID, commit: null, host: "here" },
    { type: "FailBox", boxId: BOX_ID, reason: "clone_failed" },
    { type: "ClosePreview", boxId: BOX_ID, port: 3_000, ...WHO },
    { type: "PushBox", boxId: BOX_ID, commit: "a".repeat(40), ...WHO },
    { type: "DeleteBox", boxId: BOX_ID, ...WHO },
  ),
  fc.tuple(fc.integer({ min: 2, max: 6 }), fc.nat(5)).map(([n, seen]) => tickBox(n, seen)),
  fc.integer({ min: 2, max: 6 }).map((minute): BoxCommand => ({
    type: "RefuseMinute",
    boxId: BOX_ID,
    minute,
    reason: "funds",
  })),
)

/** Any command to a box; starts among them, so that most find one. */
export const boxCommand: fc.Arbitrary<BoxCommand> = fc.oneof(
  { weight: 1, arbitrary: startCommand },
  { weight: 4, arbitrary: restCommand },
)

const anyBox = fc.constantFrom<BoxId>("box_1", "box_2", "box_3")

/** Any command to the slots of a company. */
export const slotCommand: fc.Arbitrary<SlotCommand<BoxId>> = fc.oneof(
  anyBox.map((holderId) => ({ type: "TakeSlot", holderId, most: 2, caller: null }) as const),
  anyBox.map((holderId) => ({ type: "FreeSlot", holderId }) as const),
)
