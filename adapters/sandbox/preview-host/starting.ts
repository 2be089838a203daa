/** Bringing a version of an app up, in the sandbox of its company. */
import type { Pacer } from "../../machine/clock/port.ts"
import type { Box, BoxProcess } from "../boxhost/port.ts"
import { BoxRefused } from "../boxhost/port.ts"
import type { Scripted } from "./app-scripts.ts"
import {
  AWAIT_DATABASE,
  LOOK,
  RUN_DATABASE,
  TAKEN,
  TIDY,
  UNPACK,
  releaseVersion,
  runVersion,
} from "./app-scripts.ts"
import type { AppPlan, ServerApp } from "./port.ts"
import { AppFailed } from "./port.ts"
import { endVersion, logOf, partsIn, script } from "./versions.ts"
import { request } from "node:http"
import type { Duplex } from "node:stream"

/** How long what may last, milliseconds. */
export interface Times {
  /** What installs and what builds, together; ten minutes. */
  readonly buildMs: number
  /** The pause behind the first crash of an app; each further one is twice as long. A second. */
  readonly crashPauseMs: number
  /** So long a crash counts: ten minutes. */
  readonly crashWindowMs: number
  /** An app has so long to come up, and as long for its release: a minute. */
  readonly upMs: number
}

/** The folders of a volume that are a company's own. */
export const PARTS = ["pg", "storage"]
/** Each of them has so much. */
export const PART_BYTES = 1024 * 1024 * 1024
/** The files of a version, of 500 MB at most, are unpacked within this. */
const UNPACK_MS = 300_000

/** A start, with what it needs. */
interface Start {
  readonly plan: AppPlan
  readonly port: number
  readonly pacer: Pacer
  readonly times: Partial<Times>
}

/** How much database and storage have, KiB. */
export async function kibibytesIn(box: Box): Promise<number> {
  return Object.values((await lookedAt(box, "none")).kibibytes).reduce((sum, one) => sum + one, 0)
}

/** What is there of a version, and of the company. */
async function lookedAt(box: Box, publishId: string) {
  const { stdout } = await script(box, LOOK, [publishId])
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
 * @throws AppFailed where it does not come up; then nothing of it runs
 * @throws RangeError for what is no app
 */
export async function bringUp(box: Box, start: Start): Promise<string> {
  const { plan } = start
  const app = plan.recipe.serves
  if (app.kind !== "app") throw new RangeError(`${plan.publishId} is no app`)
  const parts = await partsIn(box)
  const runs = parts.find((one) => one.version === plan.publishId && one.status === "running")
  let said = ""
  try {
    const { process, released } =
      runs === undefined ? await begun(box, start, app) : { process: runs, released: "" }
    said = released
    await mustComeUp(box, start, { app, process })
  } catch (error) {
    if (!(error instanceof AppFailed)) throw error
    // Of one that was well before its files are kept: it is tried again.
    if (plan.isNew) await endVersion(start.pacer, box, plan.publishId)
    throw error
  }
  if (!plan.isNew) return said
  const running = (await partsIn(box)).flatMap(({ status, version }) =>
    status === "running" && version !== null ? [version] : [],
  )
  await script(box, TIDY, [plan.publishId, ...running])
  return said
}

/** A version that begins, and what its release wrote. */
interface Begun {
  readonly process: BoxProcess
  readonly released: string
}

/** Begins a version, with all that it needs before. */
async function begun(box: Box, start: Start, app: ServerApp): Promise<Begun> {
  const { plan, port, times } = start
  const { crashPauseMs = 1_000, crashWindowMs = 600_000 } = times
  const { publishId, recipe, url } = plan
  mustBeNames(Object.keys(recipe.env))
  mustBePath(app.health)
  const [database, found] = await Promise.all([databaseIn(box), lookedAt(box, publishId)])
  mustHaveRoom(found.kibibytes)
  if (!found.isThere) await unpack(box, plan)
  const version = { publishId, port, url, env: recipe.env, crashPauseMs, crashWindowMs }
  let released = ""
  // One that was live before finds a new database where an operator emptied the preview.
  if (plan.isNew || !found.isReleased) {
    // To make one takes longer than to start it: that is not the app's to answer for.
    await mustBeReady(box, database)
    if (app.release !== null) released = await release(box, start, version, app.release)
  }
  const process = await asAsked(() => box.spawn(runVersion(version, app.start), "/"))
  return { process, released }
}

/** Has the database running; where another program began it, that one is taken. */
async function databaseIn(box: Box): Promise<BoxProcess> {
  const running = (await partsIn(box)).find((one) => one.isDatabase && one.status === "running")
  return running ?? box.spawn(RUN_DATABASE, "/")
}

/** What the box says no to, its users can mend. */
async function asAsked<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof BoxRefused) throw new AppFailed(error.message, "")
    throw error
  }
}

function mustBeNames(names: readonly string[]): void {
  const wrong = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  if (wrong !== undefined) {
    throw new AppFailed(`No variable can be called ${JSON.stringify(wrong)}.`, "")
  }
}

function mustBePath(path: string): void {
  if (/^\/[!-~]*$/.test(path)) return
  throw new AppFailed(`No path for its health can be ${JSON.stringify(path)}.`, "")
}

function mustHaveRoom(kibibytes: Readonly<Record<string, number>>): void {
  const full = PARTS.find((name) => (kibibytes[name] ?? 0) * 1_024 > PART_BYTES)
  if (full === undefined) return
  const what = full === "pg" ? "database" : "storage"
  throw new AppFailed(
    `The preview's ${what} has more than 1 GiB: reset the preview, which empties database and storage.`,
    "",
  )
}

async function unpack(box: Box, { files, publishId }: AppPlan): Promise<void> {
  const stdin = files()
  const ran = await script(box, UNPACK, [publishId], { stdin, timeoutMs: UNPACK_MS })
  if (ran.exitCode === 0) return
  const says = Buffer.from(ran.stdout).toString("utf8").trim().split("\n").at(-1) ?? ""
  throw new AppFailed(`The app's files could not be unpacked: ${says}`, "")
}

async function mustBeReady(box: Box, database: BoxProcess): Promise<void> {
  const waited = await script(box, AWAIT_DATABASE, [])
  if (waited.exitCode === 0) return
  throw new AppFailed("The preview's database did not start.", await logOf(box, database.id))
}

/** Runs what a version runs once; answers what it wrote. */
async function release(
  box: Box,
  { times: { upMs = 60_000 } }: Start,
  version: Scripted,
  command: string,
): Promise<string> {
  const ran = await script(box, releaseVersion(version, command), [], { timeoutMs: upMs })
  const log = Buffer.from(ran.stdout).toString("utf8")
  if (ran.isTimedOut) {
    throw new AppFailed(`The release took longer than ${upMs / 1_000} seconds.`, log)
  }
  if (ran.exitCode !== 0) throw new AppFailed(`The release ended with ${ran.exitCode}.`, log)
  return log
}

async function mustComeUp(
  box: Box,
  { pacer, plan, port, times: { upMs = 60_000 } }: Start,
  { app, process }: { readonly app: ServerApp; readonly process: BoxProcess },
): Promise<void> {
  const hasEnded = async () => {
    const parts = (await partsIn(box)).filter(({ version }) => version === plan.publishId)
    const own = parts.find(({ id }) => id === process.id)
    // One that another program began goes on in the place of ours.
    return own?.exitCode === TAKEN ? !parts.some(isAlive) : own === undefined || !isAlive(own)
  }
  const fault = await comesUp(pacer, {
    dial: () => box.dial(port),
    hasEnded,
    path: app.health,
    host: new URL(plan.url).host,
    withinMs: upMs,
  })
  if (fault !== null) throw new AppFailed(`The app ${fault}.`, await logOf(box, process.id))
}

const isAlive = ({ status }: BoxProcess): boolean => status === "running"

/** It is asked again after so long, at first; what does not listen says so at once. */
const FIRST_PAUSE_MS = 20
const PAUSE_MS = 250
/** One question is waited for so long. */
const ANSWER_MS = 10_000

/** An app to look at. */
interface Patient {
  readonly dial: () => Promise<Duplex | null>
  /** Whether it will not come up any more. */
  readonly hasEnded: () => Promise<boolean>
  readonly path: string
  readonly host: string
  readonly withinMs: number
}

/** Resolves once it is well: null; or says why it is not, in words behind "The app". */
async function comesUp(pacer: Pacer, patient: Patient): Promise<string | null> {
  const { path, withinMs } = patient
  const until = pacer.elapsedMs() + withinMs
  let said = "did not listen on PORT"
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS, pauseMs * 1.25)) {
    const left = until - pacer.elapsedMs()
    const answer = left > 0 ? await answerOf(pacer, patient, Math.min(left, ANSWER_MS)) : null
    if (typeof answer === "number" && answer < 500) return null
    if (answer !== null) said = `answered GET ${path} with ${answer}`
    if (await patient.hasEnded()) return `ended before it answered; it ${said}`
    if (pacer.elapsedMs() >= until) return `${said} within ${Math.round(withinMs / 1000)} seconds`
    await pacer.pause(pauseMs)
  }
}

/** The status that it answers with; null where it does not listen, and words where it says nothing sensible. */
async function answerOf(
  pacer: Pacer,
  { dial, host, path }: Patient,
  withinMs: number,
): Promise<number | "nothing" | null> {
  const socket = await dial()
  if (socket === null) return null
  const over = new AbortController()
  const late = pacer.pause(withinMs, over.signal).then(() => "nothing" as const)
  try {
    return await Promise.race([statusOf(socket, { host, path }), late])
  } finally {
    over.abort()
    socket.destroy()
  }
}

function statusOf(
  socket: Duplex,
  { host, path }: Pick<Patient, "host" | "path">,
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
