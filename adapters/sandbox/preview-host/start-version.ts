/** Starts a version of an app in its company's sandbox. */
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

/** Timeouts, milliseconds. */
export interface PreviewTimeouts {
  /** Installing and building together; default ten minutes. */
  readonly buildTimeoutMs: number
  /**
   * The delay after an app's first crash; each further one is twice as long. Default: one second.
   */
  readonly crashDelayMs: number
  /** How long a crash counts; default ten minutes. */
  readonly crashWindowMs: number
  /** Time for an app to become healthy, and for its release; default one minute each. */
  readonly startupTimeoutMs: number
}

/** The folders of a volume that hold a company's data. */
export const VOLUME_FOLDERS = ["pg", "storage"]
/** Size limit of each folder. */
export const VOLUME_FOLDER_BYTES = 1024 * 1024 * 1024
/** Timeout of unpacking a version's files, at most 500 MB. */
const UNPACK_TIMEOUT_MS = 300_000

interface StartRequest {
  readonly plan: AppStartPlan
  readonly port: number
  readonly pacer: Pacer
  readonly timeouts: Partial<PreviewTimeouts>
}

/** The size of database and storage, KiB. */
export async function measureKibibytes(box: BoxHandle): Promise<number> {
  return Object.values((await readVersionState(box, "none")).kibibytes).reduce(
    (sum, one) => sum + one,
    0,
  )
}

/** The state of a version's files and the company's data. */
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
 * Starts a version; resolves with its release log when it is healthy.
 *
 * @throws AppStartFailed if it does not become healthy; then it does not run
 * @throws RangeError if the recipe is not an app
 */
export async function startAppVersion(box: BoxHandle, start: StartRequest): Promise<string> {
  const { plan } = start
  const app = plan.recipe.serves
  if (app.kind !== "app") throw new RangeError(`${plan.publishId} is not an app`)
  const processes = await listPreviewProcesses(box)
  const runningProcess = processes.find(
    (one) => one.publishId === plan.publishId && one.status === "running",
  )
  let releaseLog = ""
  try {
    const started =
      runningProcess === undefined
        ? await launchVersion(box, start, app)
        : { process: runningProcess, releaseLog: "" }
    releaseLog = started.releaseLog
    await awaitHealthy(box, start, { app, process: started.process })
  } catch (error) {
    if (!(error instanceof AppStartFailed)) throw error
    // The files of a version that was live before are kept for another attempt.
    if (plan.isNew) await removeAppVersion(start.pacer, box, plan.publishId)
    throw error
  }
  if (!plan.isNew) return releaseLog
  const running = (await listPreviewProcesses(box)).flatMap(({ status, publishId }) =>
    status === "running" && publishId !== null ? [publishId] : [],
  )
  await runPreviewScript(box, CLEANUP_SCRIPT, [plan.publishId, ...running])
  return releaseLog
}

interface StartedVersion {
  readonly process: BoxProcess
  readonly releaseLog: string
}

/** Starts a version after its preparations. */
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
  // A version that was live before needs its release again if an operator reset the database.
  if (plan.isNew || !found.isReleased) {
    // Creating the database takes longer than starting it, and must not count against the app.
    await awaitDatabase(box, database)
    if (app.release !== null) releaseLog = await runRelease(box, start, version, app.release)
  }
  const process = await orAppStartFailed(() => box.spawn(runVersionScript(version, app.start), "/"))
  return { process, releaseLog }
}

/** Starts the database unless another program has done so. */
async function ensureDatabase(box: BoxHandle): Promise<BoxProcess> {
  const running = (await listPreviewProcesses(box)).find(
    (one) => one.isDatabase && one.status === "running",
  )
  return running ?? box.spawn(RUN_DATABASE_SCRIPT, "/")
}

/** A rejection by the box is a fault that the company can fix. */
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
    throw new AppStartFailed(
      `${JSON.stringify(wrong)} is not a valid variable name: use letters, digits and underscores.`,
      "",
    )
  }
}

function checkHealthPath(path: string): void {
  if (/^\/[!-~]*$/.test(path)) return
  throw new AppStartFailed(
    `${JSON.stringify(path)} is not a valid health path: start it with / and use no spaces.`,
    "",
  )
}

function checkRoom(kibibytes: Readonly<Record<string, number>>): void {
  const full = VOLUME_FOLDERS.find((name) => (kibibytes[name] ?? 0) * 1_024 > VOLUME_FOLDER_BYTES)
  if (full === undefined) return
  const part = full === "pg" ? "database" : "storage"
  throw new AppStartFailed(
    `The preview's ${part} is larger than 1 GiB. Reset the preview, which empties database and storage.`,
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
  const message = Buffer.from(ran.stdout).toString("utf8").trim().split("\n").at(-1) ?? ""
  throw new AppStartFailed(`The app's files could not be unpacked: ${message}`, "")
}

async function awaitDatabase(box: BoxHandle, database: BoxProcess): Promise<void> {
  const waited = await runPreviewScript(box, AWAIT_DATABASE_SCRIPT, [])
  if (waited.exitCode === 0) return
  throw new AppStartFailed(
    "The preview's database did not start.",
    await readProcessLog(box, database.id),
  )
}

/** Runs the release command; returns its log. */
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
  if (ran.exitCode !== 0)
    throw new AppStartFailed(`The release exited with code ${ran.exitCode}.`, log)
  return log
}

async function awaitHealthy(
  box: BoxHandle,
  { pacer, plan, port, timeouts: { startupTimeoutMs = 60_000 } }: StartRequest,
  { app, process }: { readonly app: ServerAppRecipe; readonly process: BoxProcess },
): Promise<void> {
  const hasEnded = async () => {
    const processes = (await listPreviewProcesses(box)).filter(
      ({ publishId }) => publishId === plan.publishId,
    )
    const ownProcess = processes.find(({ id }) => id === process.id)
    // Ours exited because another program's process runs the version; that one counts.
    return ownProcess?.exitCode === LOCKED_EXIT_CODE
      ? !processes.some(isAlive)
      : ownProcess === undefined || !isAlive(ownProcess)
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

/** First polling delay; an app that does not listen fails immediately. */
const FIRST_POLL_MS = 20
const MAX_POLL_MS = 250
const HEALTH_REPLY_TIMEOUT_MS = 10_000

interface HealthCheck {
  readonly connect: () => Promise<Duplex | null>
  /** Whether the app has ended for good. */
  readonly hasEnded: () => Promise<boolean>
  readonly path: string
  readonly host: string
  readonly timeoutMs: number
}

/** Polls until the app is healthy; returns null, or a fault that completes "The app …". */
async function pollHealth(pacer: Pacer, check: HealthCheck): Promise<string | null> {
  const { path, timeoutMs } = check
  const until = pacer.elapsedMs() + timeoutMs
  let fault = "did not listen on PORT"
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(MAX_POLL_MS, pauseMs * 1.25)) {
    const left = until - pacer.elapsedMs()
    const answer =
      left > 0 ? await checkHealth(pacer, check, Math.min(left, HEALTH_REPLY_TIMEOUT_MS)) : null
    if (typeof answer === "number" && answer < 500) return null
    if (answer !== null) fault = `answered GET ${path} with ${answer}`
    if (await check.hasEnded()) return `ended before it answered; it ${fault}`
    if (pacer.elapsedMs() >= until) return `${fault} within ${Math.round(timeoutMs / 1000)} seconds`
    await pacer.pause(pauseMs)
  }
}

/**
 * The status of the health path; null if nothing listens, `nothing` if there is no valid answer in
 * time.
 */
async function checkHealth(
  pacer: Pacer,
  { connect, host, path }: HealthCheck,
  withinMs: number,
): Promise<number | "nothing" | null> {
  const socket = await connect()
  if (socket === null) return null
  const answered = new AbortController()
  const late = pacer.pause(withinMs, answered.signal).then(() => "nothing" as const)
  try {
    return await Promise.race([requestStatus(socket, { host, path }), late])
  } finally {
    answered.abort()
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
      // Any duplex stream works.
      createConnection: () => socket,
    })
    call.once("response", ({ statusCode = 0 }) => resolve(statusCode))
    call.on("error", () => resolve("nothing"))
    call.once("close", () => resolve("nothing"))
    call.end()
  })
}
