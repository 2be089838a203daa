/** Events of an installed app and their stored formats; they have counts and never content. */
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

/** The things that an app may count. */
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

/** The counts of an app; null if it did not report one. */
export type AppCounts = ValueOf<typeof counts>

/** Builds counts from those that an app reported. */
export function appCountsFrom(reported: Readonly<Record<string, number | undefined>>): AppCounts {
  return {
    projects: reported["projects"] ?? null,
    people: reported["people"] ?? null,
    contacts: reported["contacts"] ?? null,
    companies: reported["companies"] ?? null,
    deals: reported["deals"] ?? null,
    messages: reported["messages"] ?? null,
    appointments: reported["appointments"] ?? null,
    automations: reported["automations"] ?? null,
  }
}

/** What an update applies to. */
export const DEVICE_KINDS = ["app", "launcher"] as const
export const UPDATE_STATUSES = ["available", "deferred", "started", "completed", "failed"] as const
/** Why an update has its status. */
export const UPDATE_REASONS = [
  "user_deferred",
  "download_failed",
  "verification_failed",
  "install_failed",
  "incompatible",
  "unknown",
] as const

/** The stored formats of an installed app's events. */
export const appFormats = {
  AppCheckedIn: {
    version: 1,
    fields: {
      at: instant,
      installId: asciiText,
      version: asciiText,
      platform: optional(asciiText),
      coreHash: optional(asciiText),
      counts,
    },
  },
  DeviceReported: {
    version: 1,
    fields: {
      at: instant,
      installId: asciiText,
      eventId: asciiText,
      attemptId: asciiText,
      /** Counted by the device: a lower number is older. */
      sequence: integer,
      kind: enumOf(...DEVICE_KINDS),
      version: asciiText,
      status: enumOf(...UPDATE_STATUSES),
      reason: optional(enumOf(...UPDATE_REASONS)),
    },
  },
} satisfies EventFormats

/** Every event of an installed app. */
export type AppEvent = FactOf<typeof appFormats>
/** An app reported its version and counts. */
export type AppCheckedIn = FactOf<typeof appFormats, "AppCheckedIn">
/** A device reported the status of an update. */
export type DeviceReported = FactOf<typeof appFormats, "DeviceReported">

/** Writes and reads the events of installed apps. */
export const appCodec = codecOf(appFormats)
