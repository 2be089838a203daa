/** The facts about an installed app, and the forms they are stored in: never content, only counts. */
import type { Formats } from "../kernel/format.ts"
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

/** How much there is in an app; null where it did not say. */
export type Counts = { readonly [K in (typeof COUNTED)[number]]: number | null }

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

/** An app said how it is. */
export interface AppCheckedIn {
  readonly type: "AppCheckedIn"
  readonly at: number
  readonly installId: string
  readonly version: string
  readonly platform: string | null
  /** What it says its protected core is known by. */
  readonly seal: string | null
  readonly counts: Counts
}

/** A device said how an update stands. */
export interface DeviceReported {
  readonly type: "DeviceReported"
  readonly at: number
  readonly installId: string
  readonly eventId: string
  readonly attemptId: string
  /** Counted by the device: what is lower is older. */
  readonly sequence: number
  readonly kind: (typeof DEVICE_KINDS)[number]
  readonly version: string
  readonly status: (typeof UPDATE_STATUSES)[number]
  readonly reason: (typeof UPDATE_REASONS)[number] | null
}

/** Everything that can happen to an installed app. */
export type AppEvent = AppCheckedIn | DeviceReported

const count = optional(int)

/** The stored form of each fact. */
export const appFormats: Formats<AppEvent> = {
  AppCheckedIn: {
    version: 1,
    fields: {
      at: time,
      installId: plain,
      version: plain,
      platform: optional(plain),
      seal: optional(plain),
      counts: record<Counts>({
        projects: count,
        people: count,
        contacts: count,
        companies: count,
        deals: count,
        messages: count,
        appointments: count,
        automations: count,
      }),
    },
  },
  DeviceReported: {
    version: 1,
    fields: {
      at: time,
      installId: plain,
      eventId: plain,
      attemptId: plain,
      sequence: int,
      kind: oneOf(...DEVICE_KINDS),
      version: plain,
      status: oneOf(...UPDATE_STATUSES),
      reason: optional(oneOf(...UPDATE_REASONS)),
    },
  },
}

/** Writes and reads the facts of installed apps. */
export const appCodec = codecOf<AppEvent>(appFormats)
