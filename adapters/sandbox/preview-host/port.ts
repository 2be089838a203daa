/**
 * Where what companies publish is built, and where the server apps among it run: in sandboxes, of which a
 * company's preview has one of its own with all its versions, its database and its storage. What is in it
 * is untrusted, and so is whatever comes out.
 *
 * All of it may throw ProviderUnavailable (nothing was done) and ProviderOutcomeUnknown (nobody knows).
 */
import type { Duplex } from "node:stream"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"

/** What a commit says of how it is built and served. */
export interface Recipe {
  /** The folder of it all, relative to that of the commit; `.` for that itself. Its parts are plain names. */
  readonly root: string
  /** By the shell, in the root; null for nothing. */
  readonly install: string | null
  readonly build: string | null
  /** What every command of it finds in its environment. */
  readonly env: Readonly<Record<string, string>>
  readonly serves: StaticSiteRecipe | ServerAppRecipe
}

/** Files that are served as they are. */
export interface StaticSiteRecipe {
  readonly kind: "static"
  /** Where they are once it is built, relative to the root. */
  readonly folder: string
  /** The file that navigations to what is not there are answered with; null for none. */
  readonly fallback: string | null
}

/** A program that listens on `PORT`. */
export interface ServerAppRecipe {
  readonly kind: "app"
  readonly start: string
  /** What runs once before a version starts for the first time; null for nothing. */
  readonly release: string | null
  /** The path that answers below 500 once it is well. */
  readonly health: string
}

/** What is to be built. */
export interface BuildPlan {
  readonly companyId: CompanyId
  readonly publishId: PublishId
  readonly recipe: Recipe
  /** The commit's files, a tar archive. */
  readonly files: AsyncIterable<Uint8Array>
  /** Aborted when nobody waits for it any more: it is ended then. */
  readonly signal: AbortSignal
}

/**
 * What a build came to. `log` is what its commands wrote, standard output and error together: of more than
 * 2 MiB the first and the last MiB, with a line between them that says so. `why` is a sentence for people.
 */
export type BuildResult<T> =
  | { readonly ok: true; readonly log: Buffer; readonly stored: T }
  | { readonly ok: false; readonly log: Buffer; readonly reason: string }

/** A version of a company's app. */
export interface AppVersion {
  readonly companyId: CompanyId
  readonly publishId: PublishId
}

/** How a version is started. */
export interface AppStartPlan extends AppVersion {
  readonly recipe: Recipe
  /** The address of the preview, as browsers have it. */
  readonly url: string
  /** What was built: the tar archive that `build` gave. Read only where it is not there already. */
  readonly files: () => AsyncIterable<Uint8Array>
  /**
   * Whether it has not been live so far: then older ones that do not run are cleared away, and it itself
   * where it does not come up.
   */
  readonly isNew: boolean
}

/** How a version stands. `down`: it crashed too often, and stays so. */
export interface AppVersionStatus {
  readonly publishId: PublishId
  readonly status: "running" | "down"
  /** The newest of what it wrote. */
  readonly log: string
}

/** How a company's sandbox stands. */
export interface PreviewStatus {
  readonly versions: readonly AppVersionStatus[]
  /** How often something passed since it was made; it never falls. */
  readonly activities: number
  /** How long it lives yet, milliseconds. */
  readonly leaseLeftMs: number
}

/** A version did not come up; the message is a sentence for people. */
export class AppStartFailed extends Error {
  override readonly name = "AppStartFailed"
  /** The newest of what it wrote. */
  readonly log: string

  constructor(message: string, log: string) {
    super(message)
    this.log = log
  }
}

/** Builds, and runs apps. */
export interface PreviewHost {
  /** Names where its sandboxes and their data are: whoever has another name cannot reach them. */
  readonly hostId: string
  /** Whether something can be built here now. */
  readonly canBuild: () => Promise<boolean>
  /**
   * Builds a commit in a sandbox of its own that ends with it, and has what was built kept: a tar archive,
   * of a static site what is in its folder, of an app all that is in its root. It has ten minutes. Where it
   * cannot be built, that is its answer; what `keep` throws is thrown.
   */
  readonly build: <T>(
    plan: BuildPlan,
    keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<BuildResult<T>>
  /**
   * Starts a version beside those that run, in the company's sandbox, which is made where it is not there;
   * resolves once it is well, with the newest of what its release wrote. That runs before, once for each
   * database; empty where none did. One that runs: nothing.
   *
   * @throws AppStartFailed where it does not come up in a minute, or its release fails
   */
  readonly start: (plan: AppStartPlan) => Promise<string>
  /** A connection to a version; null where it does not run, or does not listen. */
  readonly connect: (version: AppVersion) => Promise<Duplex | null>
  /** Null where the company's sandbox does not run. */
  readonly readStatus: (companyId: CompanyId) => Promise<PreviewStatus | null>
  /** From now on it lives so long if nobody extends it, milliseconds. */
  readonly extend: (companyId: CompanyId, leaseMs: number) => Promise<void>
  /** Ends a version: it is asked to, has ten seconds, and is gone. */
  readonly removeVersion: (version: AppVersion) => Promise<void>
  /** Ends the company's sandbox, with its database in order; its data stay. */
  readonly sleep: (companyId: CompanyId) => Promise<void>
  /** How much the company's database and storage have, bytes; null where there are none. */
  readonly measureBytes: (companyId: CompanyId) => Promise<number | null>
  /** Ends the company's sandbox and takes its database and storage away. Again: nothing. */
  readonly erase: (companyId: CompanyId) => Promise<void>
  /** The companies whose sandbox runs here. */
  readonly listRunning: () => Promise<readonly CompanyId[]>
}
