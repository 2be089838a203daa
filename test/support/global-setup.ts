import { existsSync, rmSync, statfsSync } from "node:fs"
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import type { TestProject } from "vitest/node"
import { buildBundleIfNeeded } from "../../bin/bundle.mjs"
import { isPidInUse, pidFile, sendSignal } from "../../adapters/postgres/embedded/postmaster.ts"
import {
  type EmbeddedPostgres,
  stopLeftoverPostgres,
  startEmbeddedPostgres,
} from "../../adapters/postgres/embedded/start-embedded.ts"
import { makeTemplate } from "./test-database.ts"

/** Short, because sockets lie below it and the path of a socket has at most 107 bytes. */
const PREFIX = "ledger-"

/** What Node compiled of the program and the tests, for the next run. */
const COMPILED = join(import.meta.dirname, "../../node_modules/.cache/company-ledger-tests")

const REMOVE = { recursive: true, force: true, maxRetries: 3 } as const

/**
 * Starts one PostgreSQL for the whole test run, in a folder that goes with it. A flush to the disk
 * is left out unless `TEST_FSYNC=on`: nothing in that folder outlives the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftBehind()
  const dataDir = await mkdtemp(join(folders()[0] ?? tmpdir(), `${PREFIX}${process.pid}-`))
  let postgres: EmbeddedPostgres | undefined
  // After Ctrl-C vitest ends without its teardown, and only what needs no waiting is still done.
  const atExit = (): void => {
    if (postgres !== undefined) endNow(postgres.pid, dataDir)
    rmSync(dataDir, REMOVE)
  }
  const teardown = async (): Promise<void> => {
    await postgres?.stop()
    await rm(dataDir, REMOVE)
    process.off("exit", atExit)
  }
  process.once("exit", atExit)
  // Data folders, repositories and profiles of browsers lie next to it: a flush to a disk costs more than most tests.
  const temporary = join(dataDir, "tmp")
  await mkdir(temporary)
  // Tests run programs as other users too, and so does a PostgreSQL that root starts.
  for (const path of [dataDir, temporary]) await chmod(path, 0o755)
  process.env["TMPDIR"] = temporary
  process.env["NODE_COMPILE_CACHE"] ??= COMPILED
  // Tests start the program as processes of their own, which load the bundle in a third of the time.
  const bundled = buildBundleIfNeeded().then(
    () => null,
    (error: unknown) => ({ error }),
  )
  try {
    postgres = await startEmbeddedPostgres({
      dataDir,
      log: (sentence) => console.warn(sentence),
      settings: {
        ...(process.env["TEST_FSYNC"] === "on" ? {} : { fsync: "off", full_page_writes: "off" }),
        // Several files run at once, and some of them as several processes.
        max_connections: "400",
      },
    })
    await makeTemplate(postgres.url)
    const unbuilt = await bundled
    if (unbuilt !== null) throw unbuilt.error
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide("postgresUrl", postgres.url)
  return teardown
}

/** Where test runs put their files: in memory where Linux has at least 4 GiB free there, else in the temporary folder. */
function folders(): readonly string[] {
  const inMemory = "/dev/shm"
  if (!existsSync(inMemory)) return [tmpdir()]
  const { bavail, bsize } = statfsSync(inMemory)
  return bavail * bsize < 4 * 1024 ** 3 ? [tmpdir(), inMemory] : [inMemory, tmpdir()]
}

/** Ends PostgreSQL without an event loop: its last deed is to remove the file with its id. */
function endNow(pid: number, dataDir: string): void {
  sendSignal(pid, "SIGQUIT")
  const clock = new Int32Array(new SharedArrayBuffer(4))
  const file = pidFile(join(dataDir, "postgres"))
  for (let look = 0; look < 200 && existsSync(file); look += 1) Atomics.wait(clock, 0, 0, 10)
}

/** Removes the folders of this user's test runs that were killed, and ends their PostgreSQL. */
async function removeLeftBehind(): Promise<void> {
  const left = folders().map(async (folder) =>
    (await readdir(folder)).map((name) => join(folder, name)),
  )
  for (const dataDir of (await Promise.all(left)).flat()) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(basename(dataDir))?.[1]
    if (pid === undefined || isPidInUse(Number(pid))) continue
    if ((await stat(dataDir)).uid !== process.geteuid?.()) continue
    await stopLeftoverPostgres(dataDir)
    await rm(dataDir, REMOVE)
  }
}
