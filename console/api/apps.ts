import type { Tone } from "../parts/status-badge.tsx"

/** The company's installed apps and their updates. */
export interface AppList {
  readonly apps: readonly InstalledApp[]
  readonly updates: readonly AppUpdate[]
}

/** An app, as it reported itself last. */
export interface InstalledApp {
  readonly installId: string
  readonly version: string
  readonly platform: string | null
  /** Whether its protected core matches the release. */
  readonly seal: string | null
  readonly checkedInAt: string
  /** Counts of its data; null for a count that it did not report. */
  readonly counts: Readonly<Record<string, number | null>>
}

/** The last update of an app or its launcher. */
export interface AppUpdate {
  readonly installId: string
  readonly kind: "app" | "launcher"
  readonly version: string
  readonly status: "available" | "deferred" | "started" | "completed" | "failed"
  readonly reason: string | null
  readonly sequence: number
  readonly reportedAt: string
}

export const UPDATE_STATUS_LABELS: Readonly<Record<AppUpdate["status"], readonly [Tone, string]>> =
  {
    available: ["quiet", "Available"],
    deferred: ["busy", "Deferred"],
    started: ["busy", "In progress"],
    completed: ["good", "Completed"],
    failed: ["bad", "Failed"],
  }

/** The permissions of a connected app, with descriptions. */
export const APP_PERMISSIONS = [
  ["connection.account.read", "See the company's name, plan and balance, and who you are"],
  ["connection.checkin", "Report daily that it runs, and its version"],
  ["connection.updates.read", "See newer releases"],
  ["connection.devices.report", "Report the progress of its updates"],
] as const
