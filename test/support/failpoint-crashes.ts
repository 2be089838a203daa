/** Servers that are killed at a line of the program, as often as a run has time for. */
import { afterAll, expect, onTestFinished } from "vitest"
import type { Failpoint } from "../../adapters/machine/failpoints/failpoints.ts"
import { isDeepRun } from "../charging/property-runs.ts"
import { newSeededNumbers } from "../faults/text-load.ts"
import type { ServerDataFolder, ServerProcess } from "./server-process.ts"
import { exitCodeOfStart, makeDataFolder } from "./server-process.ts"
import type { World } from "./world.ts"
import { openWorld } from "./world.ts"
import { worldDatabase } from "./world-database.ts"

/** A line of the program: a failpoint, the fact that it is about, and which pass of it. */
export type FailpointLine = `${Failpoint}:${string}=${number}` | `${Failpoint}=${number}`

/** The lines that a run tries: the named ones and one of the others by chance (`LEDGER_SEED`); all in a deep run. */
export function failpointLinesToTry(
  named: readonly FailpointLine[],
  others: readonly FailpointLine[],
): readonly FailpointLine[] {
  const chosen = newSeededNumbers().between(0, others.length - 1)
  return [...named, ...others.filter((_line, i) => isDeepRun || i === chosen)]
}

/** One database, which a world of the test and servers that die use in turns. */
export interface CrashTestDatabase {
  readonly databaseUrl: string
  /** The world that is open now. */
  readonly world: () => World
  /**
   * Closes the world, has a server run until it dies at a line, and opens a world again.
   *
   * @param act what the server dies of; default it dies of work that it finds at its start
   */
  readonly crashAt: (
    line: FailpointLine,
    act?: (server: ServerProcess, place: ServerDataFolder) => Promise<void>,
  ) => Promise<World>
}

/**
 * Opens a database for the calling test file; everything is closed after the file.
 *
 * @param settings of the worlds and the servers, besides those that all have
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
      const place = await makeDataFolder({
        DATABASE_URL: url,
        LEDGER_CLOCK: "test",
        NODE_ENV: "test",
        BOX_HOST: "simulator",
        LEDGER_FAILPOINTS: line,
        ...settings,
      })
      onTestFinished(place.removeFiles)
      if (act === undefined) expect(await exitCodeOfStart(place), line).toBeNull()
      else {
        const server = await place.start()
        await act(server, place)
        expect(await server.ended, line).toBeNull()
      }
      world = await open()
      return world
    },
  }
}
