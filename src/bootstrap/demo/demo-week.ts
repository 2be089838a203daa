/**
 * Creates a week of demo data: a new installation is opened on the test clock, a week in the past, and commands and
 * API calls run until now. Nothing is inserted directly.
 */
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createTestClock, removeTestClock } from "../../../adapters/machine/clock/test-clock.ts"
import { openPool } from "../../../adapters/postgres/database.ts"
import { hasCluster } from "../../../adapters/postgres/embedded/folder.ts"
import { migrateToLatest } from "../../../adapters/postgres/migrate.ts"
import type { DetailedLog } from "../../frame/kernel/log.ts"
import type { SettingsReader } from "../../frame/settings.ts"
import { PROGRAM } from "../../slices.ts"
import { buildInstallationApp } from "../open/app.ts"
import type { Config } from "../settings/config.ts"
import type { HostEnvironment } from "../open/host-environment.ts"
import type { Installation } from "../open/installation.ts"
import { openInstallation } from "../open/installation.ts"
import {
  unfinishedSeedText,
  markSeedingStarted,
  markSeedingDone,
} from "../open/host-environment.ts"
import type { DemoStep } from "./script-runner.ts"
import { callStep, commandStep, runDemoOperation, runSteps } from "./script-runner.ts"
import { DEMO_APP_FILES, DEMO_COMPANY, DEMO_STEPS, DEMO_HOURS } from "./script.ts"
import { zipOf } from "./zip.ts"

/** Percentage of the weekly AI limit that is used in the end. */
const USED_PERCENT = 91

const MICROS_PER_DOLLAR = 1_000_000

interface LimitUsage {
  readonly holder: string
  readonly class: string
  readonly period: string
  readonly amountMicros: number
  readonly usedMicros: number
}

const HOUR_MS = 3_600_000
/** Time from the last steps to the end of the week, hours. */
const LAST_STEPS_H = 0.1

export interface DemoWeekOptions {
  readonly config: Config
  readonly log: DetailedLog
  /** Receives progress lines. */
  readonly onProgress: (line: string) => void
  readonly baseUrl: () => string
  readonly signal: AbortSignal
}

export interface DemoWeek {
  /** Called once the data folder is locked: checks whether it is new. */
  readonly onFolderLocked: () => Promise<void>
  /** Called once the database runs: creates the week's data. @throws the signal's reason */
  readonly onDatabaseReady: (environment: HostEnvironment) => Promise<void>
  /** Whether this start created the data. */
  readonly isSeeded: () => boolean
}

/**
 * Prepares the demo week. Data is created only in a new data folder without an external database, event store or
 * real provider, because those do not follow the test clock.
 */
export function openDemoWeek(options: DemoWeekOptions): DemoWeek {
  const { config, onProgress } = options
  let isNew = false
  let isSeeded = false
  return {
    onFolderLocked: async () => {
      const isOwn = config.databaseUrl === null && config.eventStoreUrl === null
      isNew = isOwn && !config.hasRealProviders && !(await hasCluster(config.dataDir))
      if (isNew) await markSeedingStarted(config.dataDir)
    },
    onDatabaseReady: async (environment) => {
      if (!isNew) return
      onProgress("Creating a week of demo data (some seconds, only once) ...")
      try {
        await seedDatabase(options, environment)
      } catch (error) {
        onProgress(unfinishedSeedText(config.dataDir))
        throw error
      }
      await markSeedingDone(config.dataDir)
      isSeeded = true
    },
    isSeeded: () => isSeeded,
  }
}

async function seedDatabase(options: DemoWeekOptions, environment: HostEnvironment): Promise<void> {
  const { config, log, signal, baseUrl } = options
  const { databaseUrl } = environment
  await migrateToLatest(databaseUrl, PROGRAM.migrations, signal)
  const pool = openPool(databaseUrl, 1, (error) => log.warn("an idle connection was lost", error))
  try {
    const begun = await createTestClock(pool, DEMO_HOURS * HOUR_MS)
    const settings = withSimulatedBoxes(config.settings)
    const opening = { ...config, ...environment, settings, clock: "test" as const }
    // Traces of a week that passes in seconds would be misleading.
    const installation = await openInstallation({ ...opening, traces: null, baseUrl, log, signal })
    try {
      await runDemoWeek(options, installation, begun)
    } finally {
      await installation.close()
    }
    await removeTestClock(pool)
  } finally {
    await pool.end()
  }
}

async function runDemoWeek(
  { config, signal }: DemoWeekOptions,
  { ports }: Installation,
  begun: number,
): Promise<void> {
  // Rate limits count by the machine's clock, on which the whole week takes seconds.
  const app = await buildInstallationApp(ports, { ...config, rateLimits: "off", logSampleRate: 0 })
  const context = { ports, app, signal }
  const zip = join(config.dataDir, "demo-app.zip")
  const values = new Map([["app.zip", zip]])
  try {
    await writeFile(zip, zipOf(DEMO_APP_FILES))
    await runSteps(context, DEMO_STEPS, begun, values)
    const last = DEMO_HOURS - LAST_STEPS_H
    await runDemoOperation(ports, "clock set", { to: isoTimeAt(begun, last) }, signal)
    const list = { company: DEMO_COMPANY }
    const { limits } = await runDemoOperation<{ limits: readonly LimitUsage[] }>(
      ports,
      "limit list",
      list,
    )
    await runSteps(context, lastSteps(last, limits), begun, values)
    await runDemoOperation(ports, "clock set", { to: isoTimeAt(begun, DEMO_HOURS) }, signal)
  } finally {
    await app.close()
    await rm(zip, { force: true })
  }
}

const isoTimeAt = (begun: number, hours: number): string =>
  new Date(begun + Math.round(hours * HOUR_MS)).toISOString()

/** Replaces the box host by the simulator: real boxes do not follow the test clock. */
function withSimulatedBoxes(read: SettingsReader): SettingsReader {
  return (of) => {
    const found = read(of)
    return "BOX_HOST" in found ? { ...found, BOX_HOST: "simulator" } : found
  }
}

/**
 * Returns the last steps. They spend the rest up to `USED_PERCENT` of the weekly AI limit, because the limit's week
 * begins on Monday and the demo's on any day.
 *
 * @param at time of the steps, in hours since the demo began
 */
function lastSteps(at: number, limits: readonly LimitUsage[]): readonly DemoStep[] {
  const ai = limits.find(
    (one) => one.holder === "company" && one.class === "ai" && one.period === "week",
  )
  if (ai === undefined) throw new Error("the demo company has no weekly AI limit")
  const target = Math.floor((ai.amountMicros * USED_PERCENT) / 100)
  const missing = Math.max(0, target - ai.usedMicros)
  const charge = (n: number, item: string, micros: number) => ({
    company: DEMO_COMPANY,
    class: "ai",
    person: "{cleo}",
    item,
    id: `evaluation-${n}`,
    dollars: (Math.round(micros / 10_000) / 100).toFixed(2),
  })
  const parts = missing < 0.1 * MICROS_PER_DOLLAR ? [] : [0.45, 0.35, 0.2]
  return [
    ...parts.map((part, n) =>
      commandStep(at + n / 100, "charge", charge(n, "evaluation run", missing * part)),
    ),
    commandStep(at + 0.04, "charge", charge(8, "fine-tuning", 6.4 * MICROS_PER_DOLLAR), {
      mayBeRejected: true,
    }),
    callStep(at + 0.05, "shop", "POST /api/v1/phone/messages", {
      to: "+14155550111",
      from: "{number}",
      body: "Your order has arrived.",
    }),
    commandStep(at + 0.06, "charge", charge(9, "code review", 2.9 * MICROS_PER_DOLLAR), {
      mayBeRejected: true,
    }),
  ]
}
