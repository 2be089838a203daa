/**
 * Previews in sandboxes, by the same mechanism as boxes: a build has one of its own, and a company's apps
 * have one together, with their database and storage in a volume that outlives it.
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
/** Database and storage, and the files of two versions or three. */
const VOLUME_BYTES = 4 * 1024 * MEBIBYTE
/** Until whoever made it says how long it lives. */
const FIRST_LEASE_MS = 300_000
const FIRST_PORT = 10_000
const PORT_COUNT = 20_000

/** What it works with. */
export interface SandboxedPreviewOptions {
  readonly boxHost: BoxHost
  readonly pacer: Pacer
  /** What companies keep lies here. */
  readonly volumesFolder: string
  /** The folder of PostgreSQL's programs for apps; default those that the program brought. */
  readonly postgres?: () => Promise<string>
  readonly readAndDelete: ReadAndDeleteFile
  /** How long what may last, where not as usual; milliseconds. */
  readonly timeouts?: Partial<PreviewTimeouts>
}

/** Opens previews in sandboxes. */
export function openSandboxedPreviews(options: SandboxedPreviewOptions): PreviewHost {
  return new SandboxedPreviews(options)
}

/** Versions of a company have ports of their own, that need not be written down anywhere. */
export function versionPort(publishId: string): number {
  const hash = createHash("sha256").update(publishId).digest().readUInt32BE()
  return FIRST_PORT + (hash % PORT_COUNT)
}

const sandboxIdOf = (companyId: CompanyId): SandboxId => `app_${tagOfId(companyId)}`

/** The programs, or a word for whoever can do without them for now. @throws ProviderUnavailable */
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
  /** Starts of this program under way. */
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
    keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<BuildResult<T>> => buildCommit(this.#builder, plan, keep)

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
        // The database last: the others may have something to write to it yet.
        await terminateProcesses(pacer, box, ({ publishId }) => publishId !== null)
        await terminateProcesses(pacer, box, ({ isDatabase }) => isDatabase)
        await this.#note(companyId, await measureKibibytes(box))
        await box.stop()
      },
      undefined,
    )

  readonly measureBytes = async (companyId: CompanyId): Promise<number | null> => {
    const counted = await this.#inSandbox(companyId, measureKibibytes, null)
    if (counted !== null) await this.#note(companyId, counted)
    const noted = counted === null ? await this.#noted(companyId) : counted
    return noted === null ? null : noted * 1_024
  }

  readonly erase = async (companyId: CompanyId): Promise<void> => {
    const { boxHost } = this.#options
    await (await boxHost.find(sandboxIdOf(companyId)))?.stop()
    await boxHost.removeVolume(this.#placeOf(companyId))
    await rm(this.#noteOf(companyId), { force: true })
  }

  readonly listRunning = async (): Promise<readonly CompanyId[]> =>
    (await this.#options.boxHost.listSandboxes()).flatMap((id) =>
      id.startsWith("app_") ? [companyIdFromTag(id.slice("app_".length))] : [],
    )

  async #start(plan: AppStartPlan): Promise<string> {
    const { boxHost } = this.#options
    const running = await boxHost.find(sandboxIdOf(plan.companyId))
    // One that runs may be about to end: the version is then brought up in one of its own.
    const address = running === null ? null : await this.#bringUp(running, plan)
    const there = address ?? (await this.#bringUp(await this.#sandbox(plan.companyId), plan))
    if (there === null) throw new ProviderUnavailable("the preview's sandbox ended")
    return there
  }

  /** Brings a version up in a sandbox; null where that ends meanwhile. */
  async #bringUp(box: BoxHandle, plan: AppStartPlan): Promise<string | null> {
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

  /** The company's sandbox, made where it does not run. @throws ProviderUnavailable */
  async #sandbox(companyId: CompanyId): Promise<BoxHandle> {
    const { boxHost, postgres = postgresProgramFolder } = this.#options
    const boxId = sandboxIdOf(companyId)
    const running = await boxHost.find(boxId)
    if (running !== null) return running
    const [hostPath, hasRoom] = await Promise.all([
      findPostgres(postgres),
      boxHost.hasRoom("preview"),
    ])
    if (!hasRoom) throw new ProviderUnavailable("there is no room for one more preview now")
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
      volume: { path: this.#placeOf(companyId), bytes: VOLUME_BYTES, folderLimits },
    })
  }

  /** What is done with the company's sandbox; something else where it does not run, or ends meanwhile. */
  async #inSandbox<T>(
    companyId: CompanyId,
    act: (box: BoxHandle) => Promise<T>,
    otherwise: T,
  ): Promise<T> {
    const box = await this.#options.boxHost.find(sandboxIdOf(companyId))
    if (box === null) return otherwise
    try {
      return await act(box)
    } catch (error) {
      if (error instanceof BoxGone) return otherwise
      throw error
    }
  }

  /** Small letters only: some disks take `A` for `a`. */
  #placeOf(companyId: CompanyId): string {
    return join(this.#options.volumesFolder, Buffer.from(tagOfId(companyId)).toString("hex"))
  }

  /** While a sandbox sleeps nobody looks into its volume: what it had is written beside it. */
  #noteOf(companyId: CompanyId): string {
    return `${this.#placeOf(companyId)}.size`
  }

  #note(companyId: CompanyId, kibibytes: number): Promise<void> {
    return writeFile(this.#noteOf(companyId), String(kibibytes), { mode: 0o600 })
  }

  async #noted(companyId: CompanyId): Promise<number | null> {
    try {
      return Number(await readFile(this.#noteOf(companyId), "utf8"))
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
      throw error
    }
  }
}
