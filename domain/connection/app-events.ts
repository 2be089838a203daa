/** The facts about an installed app, and the forms they are stored in: never content, only counts. */
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import {
  codecOf,
  integer,
  enumOf,
  optional,
  asciiText,
  record,
  instant,
} from "../kernel/event-format.ts"

/** What an app may count, each a number of things. */
export const APP_COUNT_NAMES = [
  "projects",
  "people",
  "contacts",
  "companies",
  "deals",
  "messages",
  "appointments",
  "automations",
] as const

const count = optional(integer)
const counts = record({
  projects: count,
  people: count,
  contacts: count,
  companies: count,
  deals: count,
  messages: count,
  appointments: count,
  automations: count,
} satisfies Record<(typeof APP_COUNT_NAMES)[number], typeof count>)

/** How much there is in an app; null where it did not say. */
export type AppCounts = ValueOf<typeof counts>

/** The counts of which an app says some. */
export function appCountsFrom(given: Readonly<Record<string, number | undefined>>): AppCounts {
  return {
    projects: given["projects"] ?? null,
    people: given["people"] ?? null,
    contacts: given["contacts"] ?? null,
    companies: given["companies"] ?? null,
    deals: given["deals"] ?? null,
    messages: given["messages"] ?? null,
    appointments: given["appointments"] ?? null,
    automations: given["automations"] ?? null,
  }
}

/** What of an app is updated. */
export const DEVICE_KINDS = ["app", "launcher"] as const
/** How an update stands. */
export const UPDATE_STATUSES = ["available", "deferred", "started", "completed", "failed"] as const
/** Why an update stands so. */
export const UPDATE_REASONS = [
  "user_deferred",
  "download_failed",
  "verification_failed",
  "install_failed",
  "incompatible",
  "unknown",
] as const

/** Everything that can happen to an installed app. */
export const appFormats = {
  /** An app said how it is. */
  AppCheckedIn: {
    version: 1,
    fields: {
      at: instant,
      installId: asciiText,
      version: asciiText,
      platform: optional(asciiText),
      /** What it says its protected core is known by. */
      coreHash: optional(asciiText),
      counts,
    },
  },
  /** A device said how an update stands. */
  DeviceReported: {
    version: 1,
    fields: {
      at: instant,
      installId: asciiText,
      eventId: asciiText,
      attemptId: asciiText,
      /** Counted by the device: what is lower is older. */
      sequence: integer,
      kind: enumOf(...DEVICE_KINDS),
      version: asciiText,
      status: enumOf(...UPDATE_STATUSES),
      reason: optional(enumOf(...UPDATE_REASONS)),
    },
  },
} satisfies EventFormats

/** Everything that can happen to an installed app. */
export type AppEvent = FactOf<typeof appFormats>
/** An app said how it is. */
export type AppCheckedIn = FactOf<typeof appFormats, "AppCheckedIn">
/** A device said how an update stands. */
export type DeviceReported = FactOf<typeof appFormats, "DeviceReported">

/** Writes and reads the facts of installed apps. */
export const appCodec = codecOf(appFormats)
