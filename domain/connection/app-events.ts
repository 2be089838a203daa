/** The facts about an installed app, and the forms they are stored in: never content, only counts. */
import type { FactOf, FormatTable, ValueOf } from "../kernel/format.ts"
import { codecOf, int, oneOf, optional, plain, record, time } from "../kernel/format.ts"

/** What an app may count, each a number of things. */
export const COUNTED = [
  "projects",
  "people",
  "contacts",
  "companies",
  "deals",
  "messages",
  "appointments",
  "automations",
] as const

const count = optional(int)
const counts = record({
  projects: count,
  people: count,
  contacts: count,
  companies: count,
  deals: count,
  messages: count,
  appointments: count,
  automations: count,
} satisfies Record<(typeof COUNTED)[number], typeof count>)

/** How much there is in an app; null where it did not say. */
export type Counts = ValueOf<typeof counts>

/** The counts of which an app says some. */
export function countsOf(given: Readonly<Record<string, number | undefined>>): Counts {
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
      at: time,
      installId: plain,
      version: plain,
      platform: optional(plain),
      /** What it says its protected core is known by. */
      coreHash: optional(plain),
      counts,
    },
  },
  /** A device said how an update stands. */
  DeviceReported: {
    version: 1,
    fields: {
      at: time,
      installId: plain,
      eventId: plain,
      attemptId: plain,
      /** Counted by the device: what is lower is older. */
      sequence: int,
      kind: oneOf(...DEVICE_KINDS),
      version: plain,
      status: oneOf(...UPDATE_STATUSES),
      reason: optional(oneOf(...UPDATE_REASONS)),
    },
  },
} satisfies FormatTable

/** Everything that can happen to an installed app. */
export type AppEvent = FactOf<typeof appFormats>
/** An app said how it is. */
export type AppCheckedIn = FactOf<typeof appFormats, "AppCheckedIn">
/** A device said how an update stands. */
export type DeviceReported = FactOf<typeof appFormats, "DeviceReported">

/** Writes and reads the facts of installed apps. */
export const appCodec = codecOf(appFormats)
