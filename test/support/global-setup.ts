import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import {
  type Embedded,
  endLeftBehind,
  startEmbedded,
} from "../../adapters/postgres/embedded/start-embedded.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { TEMPLATE, execute, urlOfDatabase } from "./postgres.ts"

const PREFIX = "ledger-test-"

/**
 * Starts one PostgreSQL for the whole test run, in a folder that goes with it. A flush to the disk
 * is left out unless `TEST_FSYNC=on`: nothing in that folder outlives the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftBehind()
  const dataDir = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`))
  let postgres: Embedded | undefined
  const teardown = async (): Promise<void> => {
    await postgres?.stop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    postgres = await startEmbedded({
      dataDir,
      log: (sentence) => console.warn(sentence),
      settings: { fsync: process.env["TEST_FSYNC"] === "on" ? "on" : "off" },
    })
    await makeTemplate(postgres.url)
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide("postgresUrl", postgres.url)
  return teardown
}

async function makeTemplate(admin: string): Promise<void> {
  await execute(admin, `create database ${TEMPLATE} template template0`)
  await migrateToLatest(urlOfDatabase(admin, TEMPLATE))
  await execute(admin, `alter database ${TEMPLATE} with is_template true allow_connections false`)
}

/** Removes the folders of test runs that were killed, and ends their PostgreSQL. */
async function removeLeftBehind(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]
    if (pid === undefined || isAlive(Number(pid))) continue
    const dataDir = join(tmpdir(), name)
    await endLeftBehind(dataDir)
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH")
  }
}
