/** A start that nobody waits for any more, and a process that exits over a running PostgreSQL. */
import { once } from "node:events"
import { readdir, watch } from "node:fs/promises"
import { createInterface } from "node:readline"
import { join } from "node:path"
import { expect, it } from "vitest"
import { startEmbedded } from "../../adapters/postgres/embedded/start-embedded.ts"
import {
  leaveBehind,
  lives,
  query,
  startElsewhere,
  startForTest,
  temporaryFolder,
} from "../support/embedded.ts"

/** Starts and gives it up as soon as something of this name appears in a folder; answers what came of it. */
async function givenUp(dataDir: string, folder: string, begins: string): Promise<unknown> {
  const stop = new AbortController()
  const seen = watch(folder, { signal: stop.signal })
  const starting = startEmbedded({ dataDir, log: () => undefined, signal: stop.signal })
  const outcome = starting.then((postgres) => postgres.stop()).catch((error: unknown) => error)
  for await (const { filename } of seen) if (filename?.startsWith(begins) === true) break
  stop.abort("nobody waits")
  return outcome
}

it("leaves nothing half made where it is given up while the cluster is made", async () => {
  const dataDir = await temporaryFolder()
  expect(await givenUp(dataDir, dataDir, "postgres.new-")).toBe("nobody waits")
  expect(await readdir(dataDir)).toEqual([])
})

it("leaves none running where it is given up while PostgreSQL comes up, and the next start does", async () => {
  const dataDir = await temporaryFolder()
  const first = await startForTest(dataDir)
  await first.stop()
  const cluster = join(dataDir, "postgres")
  expect(await givenUp(dataDir, cluster, "postmaster.pid")).toBe("nobody waits")
  expect(await readdir(cluster)).not.toContain("postmaster.pid")
  const next = await startForTest(dataDir)
  expect(next.adopted).toBe(false)
  expect(await query(next.url, "select 1 as one")).toEqual([{ one: 1 }])
})

it("is not begun where nobody waited from the beginning on", async () => {
  const dataDir = join(await temporaryFolder(), "data")
  const start = startForTest(dataDir, { signal: AbortSignal.abort("nobody waits") })
  await expect(start).rejects.toBe("nobody waits")
  await expect(readdir(dataDir)).rejects.toThrow("ENOENT")
})

it("asks it to end where its process exits without having stopped it", async () => {
  const dataDir = await temporaryFolder()
  const starter = startElsewhere(dataDir, 'process.stdin.once("end", () => process.exit(0))')
  const [line] = (await once(createInterface(starter.stdout), "line")) as [string]
  const { pid } = JSON.parse(line) as { pid: number }
  starter.stdin.end()
  expect(await once(starter, "exit")).toEqual([0, null])
  await expect.poll(() => lives(pid)).toBe(false)
  const adopted = await leaveBehind(dataDir)
  const taker = startElsewhere(dataDir, 'process.stdin.once("end", () => process.exit(0))')
  await once(createInterface(taker.stdout), "line")
  taker.stdin.end()
  await once(taker, "exit")
  await expect.poll(() => lives(adopted.pid)).toBe(false)
})
