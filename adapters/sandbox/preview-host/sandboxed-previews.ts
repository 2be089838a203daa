/**
 * Previews in sandboxes, which boxes use as well. Each build has its own sandbox; a company's apps
 * share one, with database and storage in a volume that outlives it.
 */
import { createHash } from "node:crypto"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { type CompanyId, companyIdFromTag, tagOfId } from "../../../domain/kernel/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { StartupFault } from "../../machine/startup/port.ts"
import { postgresProgramFolder } from "../../postgres/embedded/programs.ts"
import { type BoxHandle, BoxGone, type BoxHost, type SandboxId } from "../boxhost/port.ts"
import { ProviderUnavailable } from "../../providers/provider-errors.ts"
import { POSTGRES_PATH } from "./app-scripts.ts"
import { type BuilderPorts, type ReadAndDeleteFile, buildCommit } from "./build.ts"
import type {
  AppStartPlan,
  AppVersion,
  BuildPlan,
  BuildResult,
  PreviewHost,
  PreviewStatus,
} from "./port.ts"
import {
  VOLUME_FOLDER_BYTES,
  VOLUME_FOLDERS,
  type PreviewTimeouts,
  startAppVersion,
  measureKibibytes,
} from "./start-version.ts"
import { terminateProcesses, removeAppVersion, readPreviewStatus } from "./versions.ts"

const MEBIBYTE = 1024 * 1024
/** Room for database, storage, and the files of two or three versions. */
const VOLUME_BYTES = 4 * 1024 * MEBIBYTE
/** Lease until the caller sets one. */
const FIRST_LEASE_MS = 300_000
const FIRST_PORT = 10_000
const PORT_COUNT = 20_000

export interface SandboxedPreviewOptions {
  readonly boxHost: BoxHost
  readonly pacer: Pacer
  /** The folder of the companies' volumes. */
  readonly volumesFolder: string
  /** The folder of PostgreSQL's programs for apps; default: the ones that this program ships. */
  readonly postgres?: () => Promise<string>
  readonly readAndDelete: ReadAndDeleteFile
  /** Timeouts that differ from the defaults, milliseconds. */
  readonly timeouts?: Partial<PreviewTimeouts>
}

/** Opens previews in sandboxes. */
export function openSandboxedPreviews(options: SandboxedPreviewOptions): PreviewHost {
  return new SandboxedPreviews(options)
}

/** The port of a version, derived from its id, so that it is not stored. */
export function versionPort(publishId: string): number {
  const hash = createHash("sha256").update(publishId).digest().readUInt32BE()
  return FIRST_PORT + (hash % PORT_COUNT)
}

const sandboxIdOf = (companyId: CompanyId): SandboxId => `app_${tagOfId(companyId)}`

/** Finds PostgreSQL's programs. @throws ProviderUnavailable if they are missing */
async function findPostgres(postgres: () => Promise<string>): Promise<string> {
  try {
    return await postgres()
  } catch (error) {
    if (error instanceof StartupFault) throw new ProviderUnavailable(error.message)
    throw error
  }
}

class SandboxedPreviews implements PreviewHost {
  readonly #options: SandboxedPreviewOptions
  readonly #builder: BuilderPorts
  /** Starts of this program in progress. */
  readonly #starting = new Map<string, Promise<string>>()

  readonly hostId: string

  constructor(options: SandboxedPreviewOptions) {
    this.#options = options
    const { boxHost, readAndDelete, timeouts = {} } = options
    const { buildTimeoutMs } = timeouts
    this.#builder = {
      boxHost,
      readAndDelete,
      ...(buildTimeoutMs === undefined ? {} : { buildTimeoutMs }),
    }
    this.hostId = boxHost.hostId
  }

  readonly canBuild = (): Promise<boolean> => this.#options.boxHost.hasRoom("build")

  readonly build = <T>(
    plan: BuildPlan,
    store: (built: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<BuildResult<T>> => buildCommit(this.#builder, plan, store)

  readonly start = (plan: AppStartPlan): Promise<string> => {
    const { publishId } = plan
    const starting = this.#starting.get(publishId) ?? this.#start(plan)
    this.#starting.set(publishId, starting)
    return starting.finally(() => this.#starting.delete(publishId))
  }

  readonly connect = (version: AppVersion): Promise<Duplex | null> =>
    this.#inSandbox(
      version.companyId,
      (box) => box.connectToPort(versionPort(version.publishId)),
      null,
    )

  readonly readStatus = (companyId: CompanyId): Promise<PreviewStatus | null> =>
    this.#inSandbox(companyId, readPreviewStatus, null)

  readonly extend = (companyId: CompanyId, leaseMs: number): Promise<void> =>
    this.#inSandbox(companyId, (box) => box.extend(leaseMs), undefined)

  readonly removeVersion = ({ companyId, publishId }: AppVersion): Promise<void> =>
    this.#inSandbox(
      companyId,
      (box) => removeAppVersion(this.#options.pacer, box, publishId),
      undefined,
    )

  readonly sleep = (companyId: CompanyId): Promise<void> =>
    this.#inSandbox(
      companyId,
      async (box) => {
        const { pacer } = this.#options
        // The database last: the apps may still write to it.
        await terminateProcesses(pacer, box, ({ publishId }) => publishId !== null)
        await terminateProcesses(pacer, box, ({ isDatabase }) => isDatabase)
        await this.#writeSize(companyId, await measureKibibytes(box))
        await box.stop()
      },
      undefined,
    )

  readonly measureBytes = async (companyId: CompanyId): Promise<number | null> => {
    const measured = await this.#inSandbox(companyId, measureKibibytes, null)
    if (measured !== null) await this.#writeSize(companyId, measured)
    const kibibytes = measured === null ? await this.#readSize(companyId) : measured
    return kibibytes === null ? null : kibibytes * 1_024
  }

  readonly erase = async (companyId: CompanyId): Promise<void> => {
    const { boxHost } = this.#options
    await (await boxHost.find(sandboxIdOf(companyId)))?.stop()
    await boxHost.removeVolume(this.#volumePathOf(companyId))
    await rm(this.#sizePathOf(companyId), { force: true })
  }

  readonly listRunning = async (): Promise<readonly CompanyId[]> =>
    (await this.#options.boxHost.listSandboxes()).flatMap((id) =>
      id.startsWith("app_") ? [companyIdFromTag(id.slice("app_".length))] : [],
    )

  async #start(plan: AppStartPlan): Promise<string> {
    const { boxHost } = this.#options
    const running = await boxHost.find(sandboxIdOf(plan.companyId))
    // A running sandbox may be about to end; then a new one starts the version.
    const log = running === null ? null : await this.#startIn(running, plan)
    const startLog = log ?? (await this.#startIn(await this.#sandbox(plan.companyId), plan))
    if (startLog === null)
      throw new ProviderUnavailable("the preview's sandbox ended while the version started")
    return startLog
  }

  /** Starts a version in a sandbox; null if the sandbox ends meanwhile. */
  async #startIn(box: BoxHandle, plan: AppStartPlan): Promise<string | null> {
    const { pacer, timeouts = {} } = this.#options
    try {
      return await startAppVersion(box, {
        plan,
        pacer,
        timeouts,
        port: versionPort(plan.publishId),
      })
    } catch (error) {
      if (error instanceof BoxGone) return null
      throw error
    }
  }

  /** The company's sandbox, started if needed. @throws ProviderUnavailable */
  async #sandbox(companyId: CompanyId): Promise<BoxHandle> {
    const { boxHost, postgres = postgresProgramFolder } = this.#options
    const boxId = sandboxIdOf(companyId)
    const running = await boxHost.find(boxId)
    if (running !== null) return running
    const [hostPath, hasRoom] = await Promise.all([
      findPostgres(postgres),
      boxHost.hasRoom("preview"),
    ])
    if (!hasRoom) throw new ProviderUnavailable("this machine has no room for another preview now")
    const folderLimits = Object.fromEntries(
      VOLUME_FOLDERS.map((name) => [name, VOLUME_FOLDER_BYTES]),
    )
    return boxHost.start({
      boxId,
      companyId,
      size: "preview",
      leaseMs: FIRST_LEASE_MS,
      environment: {},
      network: "none",
      programs: { hostPath, sandboxPath: POSTGRES_PATH },
      volume: { path: this.#volumePathOf(companyId), bytes: VOLUME_BYTES, folderLimits },
    })
  }

  /**
   * Runs an action in the company's sandbox; returns the fallback if it does not run or ends
   * meanwhile.
   */
  async #inSandbox<T>(
    companyId: CompanyId,
    act: (box: BoxHandle) => Promise<T>,
    fallback: T,
  ): Promise<T> {
    const box = await this.#options.boxHost.find(sandboxIdOf(companyId))
    if (box === null) return fallback
    try {
      return await act(box)
    } catch (error) {
      if (error instanceof BoxGone) return fallback
      throw error
    }
  }

  /** Hexadecimal, because some file systems ignore letter case. */
  #volumePathOf(companyId: CompanyId): string {
    return join(this.#options.volumesFolder, Buffer.from(tagOfId(companyId)).toString("hex"))
  }

  /**
   * The volume of a sleeping sandbox is not mounted, so its size is stored in a file next to it.
   */
  #sizePathOf(companyId: CompanyId): string {
    return `${this.#volumePathOf(companyId)}.size`
  }

  #writeSize(companyId: CompanyId, kibibytes: number): Promise<void> {
    return writeFile(this.#sizePathOf(companyId), String(kibibytes), { mode: 0o600 })
  }

  async #readSize(companyId: CompanyId): Promise<number | null> {
    try {
      return Number(await readFile(this.#sizePathOf(companyId), "utf8"))
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
      throw error
    }
  }
}
