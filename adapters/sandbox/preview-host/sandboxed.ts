/**
 * Previews in sandboxes, by the same mechanism as boxes: a build has one of its own, and a company's apps
 * have one together, with their database and storage in a volume that outlives it.
 */
import { createHash } from "node:crypto"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { type CompanyId, companyIdOfTag, tagOf } from "../../../domain/kernel/ids.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { StartupFault } from "../../machine/startup/port.ts"
import { programFolder } from "../../postgres/embedded/programs.ts"
import { type Box, BoxGone, type BoxHost, type SandboxId } from "../boxhost/port.ts"
import { ProviderUnavailable } from "../../providers/outside.ts"
import { POSTGRES_AT } from "./app-scripts.ts"
import { type Builder, type ReadOut, buildCommit } from "./build.ts"
import type { AppPlan, AppVersion, BuildPlan, Built, PreviewHost, PreviewStanding } from "./port.ts"
import { PART_BYTES, PARTS, type Times, bringUp, kibibytesIn } from "./starting.ts"
import { askToEnd, endVersion, standingOf } from "./versions.ts"

const MEBIBYTE = 1024 * 1024
/** Database and storage, and the files of two versions or three. */
const VOLUME_BYTES = 4 * 1024 * MEBIBYTE
/** Until whoever made it says how long it lives. */
const FIRST_LEASE_MS = 300_000
const FIRST_PORT = 10_000
const PORTS = 20_000

/** What it works with. */
export interface SandboxedOptions {
  readonly boxHost: BoxHost
  readonly pacer: Pacer
  /** What companies keep lies here. */
  readonly dir: string
  /** The folder of PostgreSQL's programs for apps; default those that the program brought. */
  readonly postgres?: () => Promise<string>
  readonly readOut: ReadOut
  /** How long what may last, where not as usual; milliseconds. */
  readonly times?: Partial<Times>
}

/** Opens previews in sandboxes. */
export function openSandboxedPreviews(options: SandboxedOptions): PreviewHost {
  return new Sandboxed(options)
}

/** Versions of a company have ports of their own, that need not be written down anywhere. */
export function portOf(publishId: string): number {
  const hash = createHash("sha256").update(publishId).digest().readUInt32BE()
  return FIRST_PORT + (hash % PORTS)
}

const sandboxOf = (companyId: CompanyId): SandboxId => `app_${tagOf(companyId)}`

/** The programs, or a word for whoever can do without them for now. @throws ProviderUnavailable */
async function found(postgres: () => Promise<string>): Promise<string> {
  try {
    return await postgres()
  } catch (error) {
    if (error instanceof StartupFault) throw new ProviderUnavailable(error.message)
    throw error
  }
}

class Sandboxed implements PreviewHost {
  readonly #options: SandboxedOptions
  readonly #builder: Builder
  /** Starts of this program under way. */
  readonly #starting = new Map<string, Promise<string>>()

  readonly hostId: string

  constructor(options: SandboxedOptions) {
    this.#options = options
    const { boxHost, readOut, times = {} } = options
    const { buildMs } = times
    this.#builder = { boxHost, readOut, ...(buildMs === undefined ? {} : { buildMs }) }
    this.hostId = boxHost.hostId
  }

  readonly isAble = (): Promise<boolean> => this.#options.boxHost.hasRoom("build")

  readonly build = <T>(
    plan: BuildPlan,
    keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<Built<T>> => buildCommit(this.#builder, plan, keep)

  readonly start = (plan: AppPlan): Promise<string> => {
    const { publishId } = plan
    const starting = this.#starting.get(publishId) ?? this.#start(plan)
    this.#starting.set(publishId, starting)
    return starting.finally(() => this.#starting.delete(publishId))
  }

  readonly dial = (version: AppVersion): Promise<Duplex | null> =>
    this.#inSandbox(version.companyId, (box) => box.dial(portOf(version.publishId)), null)

  readonly look = (companyId: CompanyId): Promise<PreviewStanding | null> =>
    this.#inSandbox(companyId, standingOf, null)

  readonly extend = (companyId: CompanyId, leaseMs: number): Promise<void> =>
    this.#inSandbox(companyId, (box) => box.extend(leaseMs), undefined)

  readonly end = ({ companyId, publishId }: AppVersion): Promise<void> =>
    this.#inSandbox(companyId, (box) => endVersion(this.#options.pacer, box, publishId), undefined)

  readonly sleep = (companyId: CompanyId): Promise<void> =>
    this.#inSandbox(
      companyId,
      async (box) => {
        const { pacer } = this.#options
        // The database last: the others may have something to write to it yet.
        await askToEnd(pacer, box, ({ version }) => version !== null)
        await askToEnd(pacer, box, ({ isDatabase }) => isDatabase)
        await this.#note(companyId, await kibibytesIn(box))
        await box.stop()
      },
      undefined,
    )

  readonly measure = async (companyId: CompanyId): Promise<number | null> => {
    const counted = await this.#inSandbox(companyId, kibibytesIn, null)
    if (counted !== null) await this.#note(companyId, counted)
    const noted = counted === null ? await this.#noted(companyId) : counted
    return noted === null ? null : noted * 1_024
  }

  readonly erase = async (companyId: CompanyId): Promise<void> => {
    const { boxHost } = this.#options
    await (await boxHost.find(sandboxOf(companyId)))?.stop()
    await boxHost.removeVolume(this.#placeOf(companyId))
    await rm(this.#noteOf(companyId), { force: true })
  }

  readonly list = async (): Promise<readonly CompanyId[]> =>
    (await this.#options.boxHost.sandboxes()).flatMap((id) =>
      id.startsWith("app_") ? [companyIdOfTag(id.slice("app_".length))] : [],
    )

  async #start(plan: AppPlan): Promise<string> {
    const { boxHost } = this.#options
    const running = await boxHost.find(sandboxOf(plan.companyId))
    // One that runs may be about to end: the version is then brought up in one of its own.
    const address = running === null ? null : await this.#bringUp(running, plan)
    const there = address ?? (await this.#bringUp(await this.#sandbox(plan.companyId), plan))
    if (there === null) throw new ProviderUnavailable("the preview's sandbox ended")
    return there
  }

  /** Brings a version up in a sandbox; null where that ends meanwhile. */
  async #bringUp(box: Box, plan: AppPlan): Promise<string | null> {
    const { pacer, times = {} } = this.#options
    try {
      return await bringUp(box, { plan, pacer, times, port: portOf(plan.publishId) })
    } catch (error) {
      if (error instanceof BoxGone) return null
      throw error
    }
  }

  /** The company's sandbox, made where it does not run. @throws ProviderUnavailable */
  async #sandbox(companyId: CompanyId): Promise<Box> {
    const { boxHost, postgres = programFolder } = this.#options
    const boxId = sandboxOf(companyId)
    const running = await boxHost.find(boxId)
    if (running !== null) return running
    const [from, hasRoom] = await Promise.all([found(postgres), boxHost.hasRoom("preview")])
    if (!hasRoom) throw new ProviderUnavailable("there is no room for one more preview now")
    const parts = Object.fromEntries(PARTS.map((name) => [name, PART_BYTES]))
    return boxHost.start({
      boxId,
      companyId,
      size: "preview",
      leaseMs: FIRST_LEASE_MS,
      environment: {},
      network: "none",
      programs: { from, at: POSTGRES_AT },
      volume: { path: this.#placeOf(companyId), bytes: VOLUME_BYTES, parts },
    })
  }

  /** What is done with the company's sandbox; something else where it does not run, or ends meanwhile. */
  async #inSandbox<T>(
    companyId: CompanyId,
    act: (box: Box) => Promise<T>,
    otherwise: T,
  ): Promise<T> {
    const box = await this.#options.boxHost.find(sandboxOf(companyId))
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
    return join(this.#options.dir, Buffer.from(tagOf(companyId)).toString("hex"))
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
