/** A box that answers commands, and commands with the usual values. */
import fc from "fast-check"
import type { BoxCommand, StartBox } from "../../domain/boxes/box-commands.ts"
import { boxDecider, viewOfBox } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { SealedText } from "../../domain/kernel/ids.ts"
import type { SlotCommand } from "../../domain/kernel/slots.ts"
import { deciderSession } from "../support/decider-spec.ts"

/** The box of all commands. */
export const BOX_ID = "box_0001"

/** The key and person of all commands. */
export const BOX_ACTOR = { keyId: "key_0001", personId: "per_0001" } as const

const sealed = (text: string): SealedText => `s1.per_0001.${text}` as SealedText

/** Starts a box. */
export function startBoxCommand(options: Partial<StartBox> = {}): StartBox {
  return {
    type: "StartBox",
    boxId: BOX_ID,
    chargeId: "chg_0001",
    ...BOX_ACTOR,
    size: "medium",
    branch: sealed("main"),
    label: null,
    maxMinutes: 60,
    idleMinutes: 15,
    budgetMicros: null,
    unitPriceMicros: 4_000,
    priceVersion: 1,
    ...options,
  }
}

/** Opens a link to a port. */
export function openPreviewCommand(port: number): BoxCommand {
  const [token, tag] = [sealed(`t${port}`), "0".repeat(64)]
  return { type: "OpenPreview", boxId: BOX_ID, port, token, tag, ...BOX_ACTOR }
}

/** Reports a full minute with the observed activity of the box. */
export function tickBoxCommand(
  minute: number,
  activities = 0,
  { isBusy = false, isKeyUsable = true } = {},
): BoxCommand {
  const observed = { activities, isBusy }
  return { type: "TickBox", boxId: BOX_ID, minute, observed, isKeyUsable }
}

export const STOP_BOX_COMMAND: BoxCommand = {
  type: "StopBox",
  boxId: BOX_ID,
  reason: "stopped",
  ...BOX_ACTOR,
}

/** A box that answers commands with facts, or with the code of a refusal. */
export function boxUnderTest() {
  const one = deciderSession(boxDecider)
  return { ...one, view: () => viewOfBox(one.state()) }
}

const startCommand = fc.constantFrom<BoxCommand>(
  startBoxCommand(),
  startBoxCommand({ maxMinutes: 3 }),
)
const restCommand = fc.oneof(
  fc.constantFrom<BoxCommand>(
    STOP_BOX_COMMAND,
    openPreviewCommand(3_000),
    openPreviewCommand(3_001),
    { type: "AbandonBox", boxId: BOX_ID },
    { type: "MarkBoxRunning", boxId: BOX_ID, commit: null, host: "here" },
    { type: "FailBox", boxId: BOX_ID, reason: "clone_failed" },
    { type: "ClosePreview", boxId: BOX_ID, port: 3_000, ...BOX_ACTOR },
    { type: "RecordBoxPush", boxId: BOX_ID, commit: "a".repeat(40), ...BOX_ACTOR },
    { type: "DeleteBox", boxId: BOX_ID, ...BOX_ACTOR },
  ),
  fc.tuple(fc.integer({ min: 2, max: 6 }), fc.nat(5)).map(([n, seen]) => tickBoxCommand(n, seen)),
  fc.integer({ min: 2, max: 6 }).map((minute): BoxCommand => ({
    type: "RefuseMinute",
    boxId: BOX_ID,
    minute,
    reason: "funds",
  })),
)

/** Any command to a box, often a start, so that most commands find a box. */
export const boxCommand: fc.Arbitrary<BoxCommand> = fc.oneof(
  { weight: 1, arbitrary: startCommand },
  { weight: 4, arbitrary: restCommand },
)

const anyBox = fc.constantFrom<BoxId>("box_1", "box_2", "box_3")

/** Any command to the slots of a company. */
export const boxSlotCommand: fc.Arbitrary<SlotCommand<BoxId>> = fc.oneof(
  anyBox.map((holderId) => ({ type: "ReserveSlot", holderId, maxSlots: 2, caller: null }) as const),
  anyBox.map((holderId) => ({ type: "ReleaseSlot", holderId }) as const),
)
