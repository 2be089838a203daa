import type { Tone } from "../parts/status-badge.tsx"

/** The company's installed apps, and how their updates stand. */
export interface AppList {
  readonly apps: readonly InstalledApp[]
  readonly updates: readonly AppUpdate[]
}

/** An app as it said of itself last. */
export interface InstalledApp {
  readonly installId: string
  readonly version: string
  readonly platform: string | null
  /** Whether its protected core is the release's. */
  readonly seal: string | null
  readonly checkedInAt: string
  /** How many of what it holds; null for what it did not say. */
  readonly counts: Readonly<Record<string, number | null>>
}

/** How the last update of an app, or of its launcher, stands. */
export interface AppUpdate {
  readonly installId: string
  readonly kind: "app" | "launcher"
  readonly version: string
  readonly status: "available" | "deferred" | "started" | "completed" | "failed"
  readonly reason: string | null
  readonly sequence: number
  readonly reportedAt: string
}

/** How updates stand, in a word and its colour. */
export const UPDATE_STATUS_LABELS: Readonly<Record<AppUpdate["status"], readonly [Tone, string]>> =
  {
    available: ["quiet", "Available"],
    deferred: ["busy", "Put off"],
    started: ["busy", "Under way"],
    completed: ["good", "Done"],
    failed: ["bad", "Failed"],
  }

/** What an app is given when it is connected, in a line each. */
export const APP_PERMISSIONS = [
  ["connection.account.read", "See the company's name, plan and balance, and who you are"],
  ["connection.checkin", "Say once a day that it runs, and in which version"],
  ["connection.updates.read", "See which releases are newer than itself"],
  ["connection.devices.report", "Say how its updates go"],
] as const
