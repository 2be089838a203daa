/** Servers that are killed at a failpoint of the program. */
import { afterAll, expect, onTestFinished } from "vitest"
import type { Failpoint } from "../../adapters/machine/failpoints/failpoints.ts"
import { isDeepRun } from "../charging/property-runs.ts"
import { newSeededNumbers } from "../faults/text-load.ts"
import type { ServerDataFolder, ServerProcess } from "./server-process.ts"
import { exitCodeOfStart, makeDataFolder } from "./server-process.ts"
import type { World } from "./world.ts"
import { openWorld } from "./world.ts"
import { worldDatabase } from "./world-database.ts"

/** A failpoint as `LEDGER_FAILPOINTS` names it: point, optional fact, and which pass kills the process. */
export type FailpointLine = `${Failpoint}:${string}=${number}` | `${Failpoint}=${number}`

/** The failpoints that a run tries: the named ones and a random other one (`LEDGER_SEED`); all in a deep run. */
export function failpointLinesToTry(
  named: readonly FailpointLine[],
  others: readonly FailpointLine[],
): readonly FailpointLine[] {
  const chosen = newSeededNumbers().between(0, others.length - 1)
  return [...named, ...others.filter((_line, i) => isDeepRun || i === chosen)]
}

/** A database used alternately by a world of the test and by servers that crash. */
export interface CrashTestDatabase {
  readonly databaseUrl: string
  /** The currently open world. */
  readonly world: () => World
  /**
   * Closes the world, runs a server until it dies at a failpoint, and opens a new world.
   *
   * @param act makes the server reach the failpoint; by default a job does at its start
   */
  readonly crashAt: (
    line: FailpointLine,
    act?: (server: ServerProcess, dataFolder: ServerDataFolder) => Promise<void>,
  ) => Promise<World>
}

/**
 * Opens a database for the calling test file; everything is closed after the file.
 *
 * @param settings additional settings of the worlds and the servers
 */
export async function openCrashTestDatabase(
  settings: Record<string, string> = {},
): Promise<CrashTestDatabase> {
  const { url, drop } = await worldDatabase()
  const open = () => openWorld("start", { url, settings, rateLimits: "off" })
  let world = await open()
  afterAll(async () => {
    await world.close()
    await drop()
  })
  return {
    databaseUrl: url,
    world: () => world,
    crashAt: async (line, act) => {
      await world.close()
      const dataFolder = await makeDataFolder({
        DATABASE_URL: url,
        LEDGER_CLOCK: "test",
        NODE_ENV: "test",
        BOX_HOST: "simulator",
        LEDGER_FAILPOINTS: line,
        ...settings,
      })
      onTestFinished(dataFolder.removeFiles)
      if (act === undefined) expect(await exitCodeOfStart(dataFolder), line).toBeNull()
      else {
        const server = await dataFolder.start()
        await act(server, dataFolder)
        expect(await server.ended, line).toBeNull()
      }
      world = await open()
      return world
    },
  }
}
