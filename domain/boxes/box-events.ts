/**
 * The facts about one box, and the forms they are stored in.
 *
 * What its person wrote (branch, label, links) is sealed under that person's key.
 */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, int, micros, oneOf, optional, plain, time } from "../kernel/format.ts"
import { id, sealed } from "../kernel/id-kinds.ts"
import { BOX_SIZES } from "./box-size.ts"
import { boxId } from "./ids.ts"

/** Why a box ended that had begun (specification, Box). */
export const STOP_REASONS = [
  "idle",
  "time_cap",
  "budget",
  "spending_limit",
  "funds",
  "key_changed",
  "stopped",
] as const

/** Why a box ended. */
export type StopReason = (typeof STOP_REASONS)[number]

/** Why a box never ran. */
export const FAIL_REASONS = ["clone_failed", "box_unavailable", "discarded"] as const

/** Why a box never ran. */
export type FailReason = (typeof FAIL_REASONS)[number]

const base = { at: time, boxId }
/** Who did it; no key where nobody of the company's did. */
const who = { keyId: optional(id.key), personId: optional(id.person) }

/** Everything that can happen to a box. */
export const boxFormats = {
  /** A box will be made: its first minute is charged, and a worker takes it from here. */
  BoxStarted: {
    version: 1,
    fields: {
      ...base,
      /** The open charge of its first minute. */
      chargeId: plain,
      keyId: id.key,
      personId: id.person,
      size: oneOf(...BOX_SIZES),
      branch: sealed,
      label: optional(sealed),
      /** As it was asked for. */
      maxMinutes: int,
      idleMinutes: int,
      /** As it was asked for; null where there is none. */
      budgetMicros: optional(micros),
      /** What each of its minutes costs, whatever becomes of the price book. */
      unitPriceMicros: micros,
      priceVersion: int,
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
      commit: optional(plain),
      /** Where it lives, as its host calls itself: nobody else can reach it. */
      host: plain,
    },
  },
  /** It could not be made. */
  BoxFailed: { version: 1, fields: { ...base, reason: oneOf(...FAIL_REASONS) } },
  /** A further minute began while it ran: it is owed from here. */
  BoxMinuteStarted: {
    version: 1,
    fields: {
      ...base,
      /** From 2. */
      minute: int,
      /** How much had been done in it, by its own count. */
      activities: int,
      /** When something was last seen to be done in it. */
      activeAt: time,
    },
  },
  /** The last minute that began was refused: it costs nothing, and the box ends. */
  BoxMinuteRefused: { version: 1, fields: { ...base, minute: int } },
  /** It ended. */
  BoxStopped: {
    version: 1,
    fields: {
      ...base,
      reason: oneOf(...STOP_REASONS),
      /**
       * When it was last seen to live, where it was found gone; when it was to stop, at its time cap or budget.
       * Null where it stopped when that was recorded.
       */
      effectiveAt: optional(time),
      ...who,
    },
  },
  /** A port of it can be opened by whoever has the link. */
  PreviewOpened: {
    version: 1,
    fields: {
      ...base,
      port: int,
      /** What its host name begins with. */
      token: sealed,
      /** The SHA-256 of that, in hexadecimal: it is found by this. */
      tag: plain,
      ...who,
    },
  },
  /** It no longer can. */
  PreviewClosed: { version: 1, fields: { ...base, port: int, ...who } },
  /** What stood in its folder is on its branch. */
  BoxPushed: { version: 1, fields: { ...base, commit: plain, ...who } },
  /** It is shown no more. */
  BoxDeleted: { version: 1, fields: { ...base, ...who } },
} satisfies FormatTable

/** Everything that can happen to a box. */
export type BoxEvent = FactOf<typeof boxFormats>

/** One of these facts. */
export type BoxFact<T extends BoxEvent["type"]> = Extract<BoxEvent, { readonly type: T }>

/** Writes and reads the facts about a box. */
export const boxCodec = codecOf(boxFormats)
