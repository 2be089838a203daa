/** Bringing a version of an app up, in the sandbox of its company. */
import type { Pacer } from "../../machine/clock/port.ts"
import type { BoxHandle, BoxProcess } from "../boxhost/port.ts"
import { BoxRequestRejected } from "../boxhost/port.ts"
import type { VersionScriptOptions } from "./app-scripts.ts"
import {
  AWAIT_DATABASE_SCRIPT,
  STATUS_SCRIPT,
  RUN_DATABASE_SCRIPT,
  LOCKED_EXIT_CODE,
  CLEANUP_SCRIPT,
  UNPACK_SCRIPT,
  releaseScript,
  runVersionScript,
} from "./app-scripts.ts"
import type { AppStartPlan, ServerAppRecipe } from "./port.ts"
import { AppStartFailed } from "./port.ts"
import {
  removeAppVersion,
  readProcessLog,
  listPreviewProcesses,
  runPreviewScript,
} from "./versions.ts"
import { request } from "node:http"
import type { Duplex } from "node:stream"

/** How long what may last, milliseconds. */
export interface PreviewTimeouts {
  /** What installs and what builds, together; ten minutes. */
  readonly buildTimeoutMs: number
  /** The pause behind the first crash of an app; each further one is twice as long. A second. */
  readonly crashDelayMs: number
  /** So long a crash counts: ten minutes. */
  readonly crashWindowMs: number
  /** An app has so long to come up, and as long for its release: a minute. */
  readonly startupTimeoutMs: number
}

/** The folders of a volume that are a company's own. */
export const VOLUME_FOLDERS = ["pg", "storage"]
/** Each of them has so much. */
export const VOLUME_FOLDER_BYTES = 1024 * 1024 * 1024
/** The files of a version, of 500 MB at most, are unpacked within this. */
const UNPACK_TIMEOUT_MS = 300_000

/** A start, with what it needs. */
interface StartRequest {
  readonly plan: AppStartPlan
  readonly port: number
  readonly pacer: Pacer
  readonly timeouts: Partial<PreviewTimeouts>
}

/** How much database and storage have, KiB. */
export async function measureKibibytes(box: BoxHandle): Promise<number> {
  return Object.values((await readVersionState(box, "none")).kibibytes).reduce(
    (sum, one) => sum + one,
    0,
  )
}

/** What is there of a version, and of the company. */
async function readVersionState(box: BoxHandle, publishId: string) {
  const { stdout } = await runPreviewScript(box, STATUS_SCRIPT, [publishId])
  const lines = Buffer.from(stdout).toString("utf8").split("\n")
  const sizes = lines.flatMap((line) => {
    const [, size = "", name = ""] = /^(\d{1,12})\t\/data\/(\w+)$/.exec(line) ?? []
    return name === "" ? [] : [[name, Number(size)] as const]
  })
  const isReleased = lines.includes("released")
  return { isThere: lines.includes("there"), isReleased, kibibytes: Object.fromEntries(sizes) }
}

/**
 * Brings a version up, and resolves once it is well, with what its release wrote.
 *
 * @throws AppStartFailed where it does not come up; then nothing of it runs
 * @throws RangeError for what is no app
 */
export async function startAppVersion(box: BoxHandle, start: StartRequest): Promise<string> {
  const { plan } = start
  const app = plan.recipe.serves
  if (app.kind !== "app") throw new RangeError(`${plan.publishId} is no app`)
  const parts = await listPreviewProcesses(box)
  const runs = parts.find((one) => one.publishId === plan.publishId && one.status === "running")
  let said = ""
  try {
    const { process, releaseLog } =
      runs === undefined ? await launchVersion(box, start, app) : { process: runs, releaseLog: "" }
    said = releaseLog
    await awaitHealthy(box, start, { app, process })
  } catch (error) {
    if (!(error instanceof AppStartFailed)) throw error
    // Of one that was well before its files are kept: it is tried again.
    if (plan.isNew) await removeAppVersion(start.pacer, box, plan.publishId)
    throw error
  }
  if (!plan.isNew) return said
  const running = (await listPreviewProcesses(box)).flatMap(({ status, publishId }) =>
    status === "running" && publishId !== null ? [publishId] : [],
  )
  await runPreviewScript(box, CLEANUP_SCRIPT, [plan.publishId, ...running])
  return said
}

/** A version that begins, and what its release wrote. */
interface StartedVersion {
  readonly process: BoxProcess
  readonly releaseLog: string
}

/** Begins a version, with all that it needs before. */
async function launchVersion(
  box: BoxHandle,
  start: StartRequest,
  app: ServerAppRecipe,
): Promise<StartedVersion> {
  const { plan, port, timeouts } = start
  const { crashDelayMs = 1_000, crashWindowMs = 600_000 } = timeouts
  const { publishId, recipe, url } = plan
  checkVariableNames(Object.keys(recipe.env))
  checkHealthPath(app.health)
  const [database, found] = await Promise.all([
    ensureDatabase(box),
    readVersionState(box, publishId),
  ])
  checkRoom(found.kibibytes)
  if (!found.isThere) await unpackVersion(box, plan)
  const version = {
    publishId,
    port,
    url,
    env: recipe.env,
    crashPauseMs: crashDelayMs,
    crashWindowMs,
  }
  let releaseLog = ""
  // One that was live before finds a new database where an operator emptied the preview.
  if (plan.isNew || !found.isReleased) {
    // To make one takes longer than to start it: that is not the app's to answer for.
    await awaitDatabase(box, database)
    if (app.release !== null) releaseLog = await runRelease(box, start, version, app.release)
  }
  const process = await orAppStartFailed(() => box.spawn(runVersionScript(version, app.start), "/"))
  return { process, releaseLog }
}

/** Has the database running; where another program began it, that one is taken. */
async function ensureDatabase(box: BoxHandle): Promise<BoxProcess> {
  const running = (await listPreviewProcesses(box)).find(
    (one) => one.isDatabase && one.status === "running",
  )
  return running ?? box.spawn(RUN_DATABASE_SCRIPT, "/")
}

/** What the box says no to, its users can mend. */
async function orAppStartFailed<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof BoxRequestRejected) throw new AppStartFailed(error.message, "")
    throw error
  }
}

function checkVariableNames(names: readonly string[]): void {
  const wrong = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  if (wrong !== undefined) {
    throw new AppStartFailed(`No variable can be called ${JSON.stringify(wrong)}.`, "")
  }
}

function checkHealthPath(path: string): void {
  if (/^\/[!-~]*$/.test(path)) return
  throw new AppStartFailed(`No path for its health can be ${JSON.stringify(path)}.`, "")
}

function checkRoom(kibibytes: Readonly<Record<string, number>>): void {
  const full = VOLUME_FOLDERS.find((name) => (kibibytes[name] ?? 0) * 1_024 > VOLUME_FOLDER_BYTES)
  if (full === undefined) return
  const what = full === "pg" ? "database" : "storage"
  throw new AppStartFailed(
    `The preview's ${what} has more than 1 GiB: reset the preview, which empties database and storage.`,
    "",
  )
}

async function unpackVersion(box: BoxHandle, { files, publishId }: AppStartPlan): Promise<void> {
  const stdin = files()
  const ran = await runPreviewScript(box, UNPACK_SCRIPT, [publishId], {
    stdin,
    timeoutMs: UNPACK_TIMEOUT_MS,
  })
  if (ran.exitCode === 0) return
  const says = Buffer.from(ran.stdout).toString("utf8").trim().split("\n").at(-1) ?? ""
  throw new AppStartFailed(`The app's files could not be unpacked: ${says}`, "")
}

async function awaitDatabase(box: BoxHandle, database: BoxProcess): Promise<void> {
  const waited = await runPreviewScript(box, AWAIT_DATABASE_SCRIPT, [])
  if (waited.exitCode === 0) return
  throw new AppStartFailed(
    "The preview's database did not start.",
    await readProcessLog(box, database.id),
  )
}

/** Runs what a version runs once; answers what it wrote. */
async function runRelease(
  box: BoxHandle,
  { timeouts: { startupTimeoutMs = 60_000 } }: StartRequest,
  version: VersionScriptOptions,
  command: string,
): Promise<string> {
  const ran = await runPreviewScript(box, releaseScript(version, command), [], {
    timeoutMs: startupTimeoutMs,
  })
  const log = Buffer.from(ran.stdout).toString("utf8")
  if (ran.isTimedOut) {
    throw new AppStartFailed(
      `The release took longer than ${startupTimeoutMs / 1_000} seconds.`,
      log,
    )
  }
  if (ran.exitCode !== 0) throw new AppStartFailed(`The release ended with ${ran.exitCode}.`, log)
  return log
}

async function awaitHealthy(
  box: BoxHandle,
  { pacer, plan, port, timeouts: { startupTimeoutMs = 60_000 } }: StartRequest,
  { app, process }: { readonly app: ServerAppRecipe; readonly process: BoxProcess },
): Promise<void> {
  const hasEnded = async () => {
    const parts = (await listPreviewProcesses(box)).filter(
      ({ publishId }) => publishId === plan.publishId,
    )
    const own = parts.find(({ id }) => id === process.id)
    // One that another program began goes on in the place of ours.
    return own?.exitCode === LOCKED_EXIT_CODE
      ? !parts.some(isAlive)
      : own === undefined || !isAlive(own)
  }
  const fault = await pollHealth(pacer, {
    connect: () => box.connectToPort(port),
    hasEnded,
    path: app.health,
    host: new URL(plan.url).host,
    timeoutMs: startupTimeoutMs,
  })
  if (fault !== null)
    throw new AppStartFailed(`The app ${fault}.`, await readProcessLog(box, process.id))
}

const isAlive = ({ status }: BoxProcess): boolean => status === "running"

/** It is asked again after so long, at first; what does not listen says so at once. */
const FIRST_POLL_MS = 20
const MAX_POLL_MS = 250
/** One question is waited for so long. */
const HEALTH_REPLY_TIMEOUT_MS = 10_000

/** An app to look at. */
interface HealthCheck {
  readonly connect: () => Promise<Duplex | null>
  /** Whether it will not come up any more. */
  readonly hasEnded: () => Promise<boolean>
  readonly path: string
  readonly host: string
  readonly timeoutMs: number
}

/** Resolves once it is well: null; or says why it is not, in words behind "The app". */
async function pollHealth(pacer: Pacer, patient: HealthCheck): Promise<string | null> {
  const { path, timeoutMs } = patient
  const until = pacer.elapsedMs() + timeoutMs
  let said = "did not listen on PORT"
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(MAX_POLL_MS, pauseMs * 1.25)) {
    const left = until - pacer.elapsedMs()
    const answer =
      left > 0 ? await checkHealth(pacer, patient, Math.min(left, HEALTH_REPLY_TIMEOUT_MS)) : null
    if (typeof answer === "number" && answer < 500) return null
    if (answer !== null) said = `answered GET ${path} with ${answer}`
    if (await patient.hasEnded()) return `ended before it answered; it ${said}`
    if (pacer.elapsedMs() >= until) return `${said} within ${Math.round(timeoutMs / 1000)} seconds`
    await pacer.pause(pauseMs)
  }
}

/** The status that it answers with; null where it does not listen, and words where it says nothing sensible. */
async function checkHealth(
  pacer: Pacer,
  { connect, host, path }: HealthCheck,
  withinMs: number,
): Promise<number | "nothing" | null> {
  const socket = await connect()
  if (socket === null) return null
  const over = new AbortController()
  const late = pacer.pause(withinMs, over.signal).then(() => "nothing" as const)
  try {
    return await Promise.race([requestStatus(socket, { host, path }), late])
  } finally {
    over.abort()
    socket.destroy()
  }
}

function requestStatus(
  socket: Duplex,
  { host, path }: Pick<HealthCheck, "host" | "path">,
): Promise<number | "nothing"> {
  return new Promise((resolve) => {
    const call = request({
      path,
      headers: { host, connection: "close" },
      // Whatever can be written to and read from will do.
      createConnection: () => socket,
    })
    call.once("response", ({ statusCode = 0 }) => resolve(statusCode))
    call.on("error", () => resolve("nothing"))
    call.once("close", () => resolve("nothing"))
    call.end()
  })
}
