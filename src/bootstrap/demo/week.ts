/**
 * The demo's week: a new installation is opened on the test clock as it stood a week ago, and lives until
 * now. Nothing of it is written by hand: commands and calls do it all.
 */
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { beginTestClock, endTestClock } from "../../../adapters/machine/clock/test.ts"
import { openPool } from "../../../adapters/postgres/database.ts"
import { hasCluster } from "../../../adapters/postgres/embedded/folder.ts"
import { migrateToLatest } from "../../../adapters/postgres/migrate.ts"
import type { DetailedLog } from "../../frame/kernel/log.ts"
import type { ReadSettings } from "../../frame/settings.ts"
import { PROGRAM } from "../../slices.ts"
import { appOf } from "../open/app.ts"
import type { Config } from "../settings/config.ts"
import type { HostEnvironment } from "../open/host-environment.ts"
import type { Installation } from "../open/installation.ts"
import { openInstallation } from "../open/installation.ts"
import { halfPlayed, markBegun, markPlayed } from "../open/host-environment.ts"
import type { Step } from "./player.ts"
import { call, command, operate, play } from "./player.ts"
import { APP, NAME, WEEK, WEEK_H } from "./script.ts"
import { zipOf } from "./zip.ts"

/** So much of the week's limit for models is used in the end, in hundredths. */
const USED_PERCENT = 91

const MICROS = 1_000_000

/** A limit as it stands. */
interface Standing {
  readonly holder: string
  readonly class: string
  readonly period: string
  readonly amountMicros: number
  readonly usedMicros: number
}

const HOUR_MS = 3_600_000
/** Its last steps are so long before its end, hours. */
const ENDING_H = 0.1

/** What a week is played with. */
export interface WeekOptions {
  readonly config: Config
  readonly log: DetailedLog
  /** Takes a line about how far it is. */
  readonly tell: (line: string) => void
  readonly baseUrl: () => string
  readonly signal: AbortSignal
}

/** A week that may be played, at the moments of a start. */
export interface Week {
  /** Once the data folder is held: looks whether it is new. */
  readonly onceHeld: () => Promise<void>
  /** Once its database runs: plays. @throws the signal's reason */
  readonly onceRunning: (environment: HostEnvironment) => Promise<void>
  /** Whether it was played, just now. */
  readonly isPlayed: () => boolean
}

/**
 * The week of a new data folder; of another one nothing is played. With a database or an event store that
 * was given, or a provider that reaches somebody, there is none: their time is not ours.
 */
export function openWeek(options: WeekOptions): Week {
  const { config, tell } = options
  let isNew = false
  let isPlayed = false
  return {
    onceHeld: async () => {
      const isOwn = config.databaseUrl === null && config.eventStoreUrl === null
      isNew = isOwn && !config.reachesOut && !(await hasCluster(config.dataDir))
      if (isNew) await markBegun(config.dataDir)
    },
    onceRunning: async (environment) => {
      if (!isNew) return
      tell("Playing a week of the demo's company (some seconds, this once) ...")
      try {
        await playOn(options, environment)
      } catch (error) {
        tell(halfPlayed(config.dataDir))
        throw error
      }
      await markPlayed(config.dataDir)
      isPlayed = true
    },
    isPlayed: () => isPlayed,
  }
}

async function playOn(options: WeekOptions, environment: HostEnvironment): Promise<void> {
  const { config, log, signal, baseUrl } = options
  const { databaseUrl } = environment
  await migrateToLatest(databaseUrl, PROGRAM.migrations, signal)
  const pool = openPool(databaseUrl, 1, (error) => log.warn("an idle connection was lost", error))
  try {
    const begun = await beginTestClock(pool, WEEK_H * HOUR_MS)
    const settings = withSimulatedBoxes(config.settings)
    const opening = { ...config, ...environment, settings, clock: "test" as const }
    // Nobody watches a week that passes in seconds.
    const unseen = { traces: null }
    const installation = await openInstallation({ ...opening, ...unseen, baseUrl, log, signal })
    try {
      await playIn(options, installation, begun)
    } finally {
      await installation.close()
    }
    await endTestClock(pool)
  } finally {
    await pool.end()
  }
}

async function playIn(
  { config, signal }: WeekOptions,
  { ports }: Installation,
  begun: number,
): Promise<void> {
  // They go by the machine's own minute, in which a week passes here.
  const app = await appOf(ports, { ...config, rateLimits: "off", logRequests: 0 })
  const stage = { ports, app, signal }
  const zip = join(config.dataDir, "demo-app.zip")
  const kept = new Map([["app.zip", zip]])
  try {
    await writeFile(zip, zipOf(APP))
    await play(stage, WEEK, begun, kept)
    const last = WEEK_H - ENDING_H
    await operate(ports, "clock set", { to: timeOf(begun, last) }, signal)
    const list = { company: NAME }
    const { limits } = await operate<{ limits: readonly Standing[] }>(ports, "limit list", list)
    await play(stage, ending(last, limits), begun, kept)
    await operate(ports, "clock set", { to: timeOf(begun, WEEK_H) }, signal)
  } finally {
    await app.close()
    await rm(zip, { force: true })
  }
}

const timeOf = (begun: number, hours: number): string =>
  new Date(begun + Math.round(hours * HOUR_MS)).toISOString()

/** Boxes that are machines would work by a clock of their own. */
function withSimulatedBoxes(read: ReadSettings): ReadSettings {
  return (of) => {
    const found = read(of)
    return "BOX_HOST" in found ? { ...found, BOX_HOST: "simulator" } : found
  }
}

/**
 * The last steps. A week by the calendar begins on Monday, the demo's on any day: what is missing to a
 * limit that is nearly used is spent at its end.
 *
 * @param at when, in hours since the demo began
 */
function ending(at: number, limits: readonly Standing[]): readonly Step[] {
  const ai = limits.find(
    (one) => one.holder === "company" && one.class === "ai" && one.period === "week",
  )
  if (ai === undefined) throw new Error("the demo's company has no limit of a week for models")
  const nearly = Math.floor((ai.amountMicros * USED_PERCENT) / 100)
  const missing = Math.max(0, nearly - ai.usedMicros)
  const charge = (n: number, item: string, micros: number) => ({
    company: NAME,
    class: "ai",
    person: "{cleo}",
    item,
    id: `evaluation-${n}`,
    dollars: (Math.round(micros / 10_000) / 100).toFixed(2),
  })
  const parts = missing < 0.1 * MICROS ? [] : [0.45, 0.35, 0.2]
  return [
    ...parts.map((part, n) =>
      command(at + n / 100, "charge", charge(n, "evaluation run", missing * part)),
    ),
    command(at + 0.04, "charge", charge(8, "fine-tuning", 6.4 * MICROS), { mayBeRefused: true }),
    call(at + 0.05, "shop", "POST /api/v1/phone/messages", {
      to: "+14155550111",
      from: "{number}",
      body: "Your order has arrived.",
    }),
    command(at + 0.06, "charge", charge(9, "code review", 2.9 * MICROS), { mayBeRefused: true }),
  ]
}
