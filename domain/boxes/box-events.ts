/**
 * The facts about one box, and the forms they are stored in.
 *
 * What its person wrote (branch, label, links) is sealed under that person's key.
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

/** Why a box ended that had begun (specification, Box). */
export const BOX_STOP_REASONS = [
  "idle",
  "time_cap",
  "budget",
  "spending_limit",
  "funds",
  "key_changed",
  "stopped",
] as const

/** Why a box ended. */
export type BoxStopReason = (typeof BOX_STOP_REASONS)[number]

/** Why a box never ran. */
export const BOX_FAIL_REASONS = ["clone_failed", "box_unavailable", "discarded"] as const

/** Why a box never ran. */
export type BoxFailReason = (typeof BOX_FAIL_REASONS)[number]

const base = { at: instant, boxId }
/** Who did it; no key where nobody of the company's did. */
const actorFields = { keyId: optional(id.key), personId: optional(id.person) }

/** Everything that can happen to a box. */
export const boxFormats = {
  /** A box will be made: its first minute is charged, and a worker takes it from here. */
  BoxStarted: {
    version: 1,
    fields: {
      ...base,
      /** The open charge of its first minute. */
      chargeId: asciiText,
      keyId: id.key,
      personId: id.person,
      size: enumOf(...BOX_SIZES),
      branch: sealedText,
      label: optional(sealedText),
      /** As it was asked for. */
      maxMinutes: integer,
      idleMinutes: integer,
      /** As it was asked for; null where there is none. */
      budgetMicros: optional(micros),
      /** What each of its minutes costs, whatever becomes of the price book. */
      unitPriceMicros: micros,
      priceVersion: integer,
    },
  },
  /** A charge was made, or a slot taken, for a box that was never started; from now on it cannot be. */
  BoxAbandoned: { version: 1, fields: base },
  /** Commands run in it: its minutes are counted from here. */
  BoxRunning: {
    version: 1,
    fields: {
      ...base,
      /** The commit that its files are of; null where there was none yet. */
      commit: optional(asciiText),
      /** Where it lives, as its host calls itself: nobody else can reach it. */
      host: asciiText,
    },
  },
  /** It could not be made. */
  BoxFailed: { version: 1, fields: { ...base, reason: enumOf(...BOX_FAIL_REASONS) } },
  /** A further minute began while it ran: it is owed from here. */
  BoxMinuteStarted: {
    version: 1,
    fields: {
      ...base,
      /** From 2. */
      minute: integer,
      /** How much had been done in it, by its own count. */
      activities: integer,
      /** When something was last seen to be done in it. */
      activeAt: instant,
    },
  },
  /** The last minute that began was refused: it costs nothing, and the box ends. */
  BoxMinuteRefused: { version: 1, fields: { ...base, minute: integer } },
  /** It ended. */
  BoxStopped: {
    version: 1,
    fields: {
      ...base,
      reason: enumOf(...BOX_STOP_REASONS),
      /**
       * When it was last seen to live, where it was found gone; when it was to stop, at its time cap or budget.
       * Null where it stopped when that was recorded.
       */
      effectiveAt: optional(instant),
      ...actorFields,
    },
  },
  /** A port of it can be opened by whoever has the link. */
  PreviewOpened: {
    version: 1,
    fields: {
      ...base,
      port: integer,
      /** What its host name begins with. */
      token: sealedText,
      /** The SHA-256 of that, in hexadecimal: it is found by this. */
      tag: asciiText,
      ...actorFields,
    },
  },
  /** It no longer can. */
  PreviewClosed: { version: 1, fields: { ...base, port: integer, ...actorFields } },
  /** What stood in its folder is on its branch. */
  BoxPushed: { version: 1, fields: { ...base, commit: asciiText, ...actorFields } },
  /** It is shown no more. */
  BoxDeleted: { version: 1, fields: { ...base, ...actorFields } },
} satisfies EventFormats

/** Everything that can happen to a box. */
export type BoxEvent = FactOf<typeof boxFormats>

/** One of these facts. */
export type BoxFact<T extends BoxEvent["type"]> = Extract<BoxEvent, { readonly type: T }>

/** Writes and reads the facts about a box. */
export const boxCodec = codecOf(boxFormats)
