/**
 * Builds published sites and runs server apps in sandboxes. A company's preview has one sandbox
 * with all its versions, its database and its storage. Its contents and its output are untrusted.
 *
 * All calls may throw ProviderUnavailable (nothing was done) and ProviderOutcomeUnknown.
 */
import type { Duplex } from "node:stream"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"

/** How a commit is built and served. */
export interface Recipe {
  /**
   * The root folder, relative to the commit's; `.` for the commit's own. Its parts are plain names.
   */
  readonly root: string
  /** The shell command that installs, run in the root; null for none. */
  readonly install: string | null
  readonly build: string | null
  /** Environment variables of every command. */
  readonly env: Readonly<Record<string, string>>
  readonly serves: StaticSiteRecipe | ServerAppRecipe
}

export interface StaticSiteRecipe {
  readonly kind: "static"
  /** The folder of the built files, relative to the root. */
  readonly folder: string
  /** The file that answers navigations to missing paths; null for none. */
  readonly fallback: string | null
}

/** A program that listens on `PORT`. */
export interface ServerAppRecipe {
  readonly kind: "app"
  readonly start: string
  /** The command that runs once before a version's first start; null for none. */
  readonly release: string | null
  /** The path that answers with a status below 500 when the app is healthy. */
  readonly health: string
}

export interface BuildPlan {
  readonly companyId: CompanyId
  readonly publishId: PublishId
  readonly recipe: Recipe
  /** The commit's files as a tar archive. */
  readonly files: AsyncIterable<Uint8Array>
  /** Aborted when the caller no longer waits; the build then ends. */
  readonly signal: AbortSignal
}

/**
 * The result of a build. `log` is the commands' standard output and error: of more than 2 MiB the
 * first and the last MiB, with a line between that says so. `reason` is a sentence for people.
 */
export type BuildResult<T> =
  | { readonly ok: true; readonly log: Buffer; readonly stored: T }
  | { readonly ok: false; readonly log: Buffer; readonly reason: string }

export interface AppVersion {
  readonly companyId: CompanyId
  readonly publishId: PublishId
}

export interface AppStartPlan extends AppVersion {
  readonly recipe: Recipe
  /** The address of the preview for browsers. */
  readonly url: string
  /** The tar archive of the build; read only if the files are not unpacked yet. */
  readonly files: () => AsyncIterable<Uint8Array>
  /**
   * Whether the version has never been live: then older stopped versions are removed, and the
   * version itself if it does not start.
   */
  readonly isNew: boolean
}

/** The status of a version. `down`: it crashed too often and is not restarted. */
export interface AppVersionStatus {
  readonly publishId: PublishId
  readonly status: "running" | "down"
  /** The newest part of its log. */
  readonly log: string
}

/** The status of a company's sandbox. */
export interface PreviewStatus {
  readonly versions: readonly AppVersionStatus[]
  /** Number of activities since its start; never decreases. */
  readonly activities: number
  /** Remaining lease, milliseconds. */
  readonly leaseLeftMs: number
}

/** A version did not start; the message is a sentence for people. */
export class AppStartFailed extends Error {
  override readonly name = "AppStartFailed"
  /** The newest part of its log. */
  readonly log: string

  constructor(message: string, log: string) {
    super(message)
    this.log = log
  }
}

/** Builds sites and runs apps. */
export interface PreviewHost {
  /** Identifies the location of the sandboxes and their data; another host cannot reach them. */
  readonly hostId: string
  /** Whether a build can start now. */
  readonly canBuild: () => Promise<boolean>
  /**
   * Builds a commit in its own sandbox, within ten minutes, and passes the output to `store`: a tar
   * archive of a static site's folder or an app's root. A failed build is a result; errors of
   * `store` are thrown.
   */
  readonly build: <T>(
    plan: BuildPlan,
    store: (built: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<BuildResult<T>>
  /**
   * Starts a version in the company's sandbox, which is created if needed, and resolves with the
   * newest part of the release log when the version is healthy. The release runs first, once per
   * database; without one the log is empty. Idempotent for a running version.
   *
   * @throws AppStartFailed if it is not healthy within a minute, or its release fails
   */
  readonly start: (plan: AppStartPlan) => Promise<string>
  /** Connects to a version; null if it does not run or does not listen. */
  readonly connect: (version: AppVersion) => Promise<Duplex | null>
  /** Null if the company's sandbox does not run. */
  readonly readStatus: (companyId: CompanyId) => Promise<PreviewStatus | null>
  /** Sets the remaining lease, milliseconds. */
  readonly extend: (companyId: CompanyId, leaseMs: number) => Promise<void>
  /** Ends a version: it gets ten seconds to exit, then it is killed. */
  readonly removeVersion: (version: AppVersion) => Promise<void>
  /** Ends the company's sandbox after a clean database shutdown; the data stays. */
  readonly sleep: (companyId: CompanyId) => Promise<void>
  /** The size of the company's database and storage, bytes; null if there are none. */
  readonly measureBytes: (companyId: CompanyId) => Promise<number | null>
  /** Ends the company's sandbox and deletes its database and storage. Idempotent. */
  readonly erase: (companyId: CompanyId) => Promise<void>
  /** The companies whose sandbox runs here. */
  readonly listRunning: () => Promise<readonly CompanyId[]>
}
