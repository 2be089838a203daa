/** Prepares a test run: one PostgreSQL, the bundle and a temporary folder. */
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

/** Short, because it is part of socket paths, which have at most 107 bytes. */
const PREFIX = "ledger-"

/** Node's compile cache for the program and the tests. */
const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/company-ledger-tests")

const REMOVE = { recursive: true, force: true, maxRetries: 3 } as const

/**
 * Starts one PostgreSQL for the whole test run, in a folder that is removed with it. Without `TEST_FSYNC=on` it does
 * not flush to disk, because nothing in the folder outlives the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeKilledRuns()
  const dataDir = await mkdtemp(join(folders()[0] ?? tmpdir(), `${PREFIX}${process.pid}-`))
  let postgres: EmbeddedPostgres | undefined
  // After Ctrl-C vitest exits without the teardown, so this cleanup is synchronous.
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
  // Data folders, repositories and browser profiles are kept in memory too: a disk flush costs more than most tests.
  const temporary = join(dataDir, "tmp")
  await mkdir(temporary)
  // Some tests run programs as other users, and root starts PostgreSQL as another user.
  for (const path of [dataDir, temporary]) await chmod(path, 0o755)
  process.env["TMPDIR"] = temporary
  process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE
  // Processes that tests start load the bundle in a third of the time of the sources.
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
        // Test files run concurrently, and some start multiple processes.
        max_connections: "400",
      },
    })
    await makeTemplate(postgres.url)
    const buildFailure = await bundled
    if (buildFailure !== null) throw buildFailure.error
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide("postgresUrl", postgres.url)
  return teardown
}

/** Folders for the files of test runs, preferred first: in memory if Linux has at least 4 GiB free there. */
function folders(): readonly string[] {
  const inMemory = "/dev/shm"
  if (!existsSync(inMemory)) return [tmpdir()]
  const { bavail, bsize } = statfsSync(inMemory)
  return bavail * bsize < 4 * 1024 ** 3 ? [tmpdir(), inMemory] : [inMemory, tmpdir()]
}

/** Ends PostgreSQL synchronously: waits up to two seconds until it has removed its pid file. */
function endNow(pid: number, dataDir: string): void {
  sendSignal(pid, "SIGQUIT")
  const clock = new Int32Array(new SharedArrayBuffer(4))
  const file = pidFile(join(dataDir, "postgres"))
  for (let check = 0; check < 200 && existsSync(file); check += 1) Atomics.wait(clock, 0, 0, 10)
}

/** Ends the PostgreSQL of this user's killed test runs and removes their folders. */
async function removeKilledRuns(): Promise<void> {
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
