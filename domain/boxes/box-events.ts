/**
 * Events of a box and their stored formats.
 *
 * Text that a person wrote (branch, label, links) is sealed under that person's key.
 */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import {
  codecOf,
  integer,
  micros,
  enumOf,
  optional,
  asciiText,
  instant,
} from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import { BOX_SIZES } from "./box-size.ts"
import { boxId } from "./ids.ts"

/** Why a box that started has ended (specification, Box). */
export const BOX_STOP_REASONS = [
  "idle",
  "time_cap",
  "budget",
  "spending_limit",
  "funds",
  "key_changed",
  "stopped",
] as const

/** Why a box that started has ended. */
export type BoxStopReason = (typeof BOX_STOP_REASONS)[number]

/** Why a box never ran. */
export const BOX_FAIL_REASONS = ["clone_failed", "box_unavailable", "discarded"] as const

/** Why a box never ran. */
export type BoxFailReason = (typeof BOX_FAIL_REASONS)[number]

const base = { at: instant, boxId }
/** Who did it; both are null if it was not a caller of the company. */
const actorFields = { keyId: optional(id.key), personId: optional(id.person) }

/** The stored formats of a box's events. */
export const boxFormats = {
  /** The first minute is charged; a worker creates the box from here. */
  BoxStarted: {
    version: 1,
    fields: {
      ...base,
      chargeId: asciiText,
      keyId: id.key,
      personId: id.person,
      size: enumOf(...BOX_SIZES),
      branch: sealedText,
      label: optional(sealedText),
      maxMinutes: integer,
      idleMinutes: integer,
      budgetMicros: optional(micros),
      /** Price of each minute of this box, even if the price book changes. */
      unitPriceMicros: micros,
      priceVersion: integer,
    },
  },
  /** A charge was made or a slot reserved for a box that never started; it can no longer start. */
  BoxAbandoned: { version: 1, fields: base },
  /** The box executes commands; its minutes are counted from here. */
  BoxRunning: {
    version: 1,
    fields: {
      ...base,
      /** The commit of its files; null if the repository was empty. */
      commit: optional(asciiText),
      /** The host that runs the box, by its own name: only that host can reach the box. */
      host: asciiText,
    },
  },
  BoxFailed: { version: 1, fields: { ...base, reason: enumOf(...BOX_FAIL_REASONS) } },
  /** Another minute started while the box ran; it is owed from here. */
  BoxMinuteStarted: {
    version: 1,
    fields: {
      ...base,
      /** From 2. */
      minute: integer,
      activities: integer,
      /** When the latest activity was observed. */
      activeAt: instant,
    },
  },
  /** The latest minute was refused: it costs nothing, and the box ends. */
  BoxMinuteRefused: { version: 1, fields: { ...base, minute: integer } },
  BoxStopped: {
    version: 1,
    fields: {
      ...base,
      reason: enumOf(...BOX_STOP_REASONS),
      /**
       * When the box was last seen, if it was lost; when it should have stopped, at its time cap or budget. Null if
       * it stopped when this was recorded.
       */
      effectiveAt: optional(instant),
      ...actorFields,
    },
  },
  /** Anyone with the link can open the port. */
  PreviewOpened: {
    version: 1,
    fields: {
      ...base,
      port: integer,
      /** The first label of the preview's host name. */
      token: sealedText,
      /** SHA-256 of the token in hexadecimal, by which the preview is found. */
      tag: asciiText,
      ...actorFields,
    },
  },
  PreviewClosed: { version: 1, fields: { ...base, port: integer, ...actorFields } },
  BoxPushed: { version: 1, fields: { ...base, commit: asciiText, ...actorFields } },
  BoxDeleted: { version: 1, fields: { ...base, ...actorFields } },
} satisfies EventFormats

export type BoxEvent = FactOf<typeof boxFormats>

/** An event of a box of type `T`. */
export type BoxFact<T extends BoxEvent["type"]> = Extract<BoxEvent, { readonly type: T }>

export const boxCodec = codecOf(boxFormats)
