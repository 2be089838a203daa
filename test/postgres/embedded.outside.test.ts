import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync, watch as watchFolder } from "node:fs"
import { mkdtemp, readFile, rm, stat, writeFile, readdir, watch } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import pg from "pg"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type {
  EmbeddedPostgres,
  EmbeddedPostgresOptions,
} from "../../adapters/postgres/embedded/start-embedded.ts"
import {
  stopLeftoverPostgres,
  startEmbeddedPostgres,
} from "../../adapters/postgres/embedded/start-embedded.ts"
import {
  leaveOrphanPostgres,
  isPidAlive,
  postgresProcessesOf,
  queryRows,
  startForTest,
  temporaryFolder,
  startInChildProcess,
} from "../support/embedded-postgres.ts"

/** Creating a cluster takes most of a test's time, so these tests share one. */
let shared: string
let logged: string[]

beforeAll(async () => {
  shared = await mkdtemp(join(tmpdir(), "embedded-"))
})

beforeEach(() => {
  logged = []
})

afterAll(async () => {
  await rm(shared, { recursive: true, force: true, maxRetries: 10 })
})

const start = (options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> =>
  startForTest(shared, { log: (sentence) => void logged.push(sentence), ...options })

/** Stores a word that a later start must still have. */
async function storeWord(postgres: EmbeddedPostgres): Promise<string> {
  const word = randomUUID()
  await queryRows(postgres.url, "create table if not exists kept (word text)")
  await queryRows(postgres.url, `insert into kept values ('${word}')`)
  return word
}

async function hasWord(postgres: EmbeddedPostgres, word: string): Promise<boolean> {
  const rows = await queryRows(postgres.url, `select 1 from kept where word = '${word}'`)
  return rows.length === 1
}

describe("a later start", () => {
  it("finds the data on the same port", async () => {
    const first = await start()
    const word = await storeWord(first)
    await first.stop()
    const second = await start()
    expect(second).toMatchObject({ url: first.url, port: first.port })
    expect(await hasWord(second, word)).toBe(true)
  })

  it("moves to another port if its own is in use, and stays there", async () => {
    const first = await start()
    await first.stop()
    const squatter = createServer().listen(first.port, "127.0.0.1")
    await once(squatter, "listening")
    const second = await start()
    squatter.close()
    expect(second.port).not.toBe(first.port)
    expect(await queryRows(second.url, "select 1 as one")).toEqual([{ one: 1 }])
    expect(logged).toEqual([
      `Port ${first.port} is in use. PostgreSQL uses port ${second.port} instead.`,
    ])
    await second.stop()
    expect((await start()).port).toBe(second.port)
  })

  it("sets a new password if the file with the old one is lost", async () => {
    const first = await start()
    const word = await storeWord(first)
    await first.stop()
    await rm(join(shared, "postgres.json"))
    const second = await start()
    expect(new URL(second.url).password).not.toBe(new URL(first.url).password)
    expect(await hasWord(second, word)).toBe(true)
    expect(logged).toEqual([expect.stringContaining("was missing or corrupt")])
  })

  it("fails with the fix if the password file belongs to another cluster", async () => {
    const first = await start()
    await first.stop()
    const password = "x".repeat(43)
    const access = { password, port: first.port }
    await writeFile(join(shared, "postgres.json"), `${JSON.stringify(access)}\n`)
    await expect(start()).rejects.toThrow(
      /postgres\.json is wrong for the PostgreSQL next to it\. Remove that file/,
    )
    await rm(join(shared, "postgres.json"))
    expect(await queryRows((await start()).url, "select 1 as one")).toEqual([{ one: 1 }])
  })

  it("ignores a stale pid file whose process id belongs to another program", async () => {
    const first = await start()
    const file = join(shared, "postgres", "postmaster.pid")
    const lines = (await readFile(file, "utf8")).split("\n")
    await first.stop()
    await writeFile(file, [String(process.pid), ...lines.slice(1)].join("\n"), { mode: 0o600 })
    const second = await start()
    expect(await queryRows(second.url, "select 1 as one")).toEqual([{ one: 1 }])
  })

  it("rotates a log of more than 10 MB", async () => {
    const first = await start()
    await first.stop()
    const log = join(shared, "postgres.log")
    await writeFile(log, "x".repeat(10_000_001))
    await start()
    expect((await stat(`${log}.1`)).size).toBe(10_000_001)
    expect((await stat(log)).size).toBeLessThan(10_000)
  })
})

describe("a PostgreSQL that a killed process left behind", () => {
  it.each(["SIGCONT", "SIGSTOP"] as const)(
    "is stopped, and the next one has its data (%s)",
    async (name) => {
      const first = await start()
      const word = await storeWord(first)
      await first.stop()
      const left = await leaveOrphanPostgres(shared)
      // A process stopped by SIGSTOP reacts only to SIGKILL.
      process.kill(left.pid, name)
      const postgres = await start({ timeouts: { stopMs: 300 } })
      expect(isPidAlive(left.pid)).toBe(false)
      expect(postgres.port).toBe(left.port)
      expect(await hasWord(postgres, word)).toBe(true)
      expect(logged).toContainEqual(expect.stringContaining(`(process ${left.pid})`))
    },
  )

  it("can be stopped without a new start", async () => {
    const left = await leaveOrphanPostgres(shared)
    await stopLeftoverPostgres(shared)
    expect(isPidAlive(left.pid)).toBe(false)
  })
})

describe("the end of a PostgreSQL", () => {
  it("disconnects clients and leaves no process", async () => {
    const postgres = await start()
    const client = new pg.Client({ connectionString: postgres.url })
    const broken = new Promise<Error>((done) => client.on("error", done))
    await client.connect()
    await client.query("begin")
    const processes = await postgresProcessesOf(postgres)
    expect(processes.filter(isPidAlive).length).toBeGreaterThan(3)
    await Promise.all([postgres.stop(), postgres.stop()])
    expect(await broken).toMatchObject({ code: "57P01" })
    expect(processes.filter(isPidAlive)).toEqual([])
    expect(await postgres.exited).toMatchObject({
      isRequested: true,
      lastLines: expect.arrayContaining([expect.stringContaining("database system is shut down")]),
    })
  })

  it("is reported with the last log lines if it crashes", async () => {
    const first = await start()
    const word = await storeWord(first)
    process.kill(first.pid, "SIGKILL")
    expect(await first.exited).toMatchObject({
      isRequested: false,
      lastLines: expect.arrayContaining([expect.stringContaining("ready to accept connections")]),
    })
    const second = await start()
    expect(await hasWord(second, word)).toBe(true)
  })

  it("allows the next start even if one of its processes hangs", async (ctx) => {
    if (process.platform !== "linux") ctx.skip("only Linux shows whose processes are whose")
    const postgres = await start()
    const { url, port } = postgres
    const [waiting] = await queryRows<{ pid: number }>(
      url,
      "select pid from pg_stat_activity where backend_type = 'checkpointer'",
    )
    const pid = waiting?.pid ?? 0
    // Simulates a process that waits for a lock of a killed process and notices nothing.
    process.kill(pid, "SIGSTOP")
    process.kill(postgres.pid, "SIGKILL")
    await postgres.exited
    const next = await start()
    expect(next.port).toBe(port)
    expect(logged).toEqual(["Killed leftover processes of an earlier PostgreSQL: 1."])
    expect(isPidAlive(pid)).toBe(false)
  })

  it("leaves no statement and no values in the log", async () => {
    const postgres = await start()
    await queryRows(postgres.url, "create table once (name text primary key)")
    await queryRows(postgres.url, "insert into once values ('Ada Example')")
    const again = queryRows(postgres.url, "insert into once values ('Ada Example')")
    await expect(again).rejects.toMatchObject({ code: "23505" })
    await postgres.stop()
    const log = await readFile(join(shared, "postgres.log"), "utf8")
    expect(log).toContain("duplicate key value")
    expect(log).not.toContain("Ada Example")
  })

  it("does not affect another PostgreSQL on the machine", async () => {
    const one = await start()
    const two = await startForTest(await temporaryFolder())
    expect(one.port).not.toBe(two.port)
    await one.stop()
    expect(await queryRows(two.url, "select 1 as one")).toEqual([{ one: 1 }])
  })
})

describe("the first start", () => {
  it("creates a cluster with fsync, page checksums, UTF-8 and UTC", async () => {
    const messages: string[] = []
    const dataDir = join(await temporaryFolder(), "data")
    const postgres = await startForTest(dataDir, {
      log: (sentence) => void messages.push(sentence),
    })
    const names = ["fsync", "synchronous_commit", "data_checksums", "server_encoding"]
    const rows = await queryRows<{ name: string; setting: string }>(
      postgres.url,
      `select name, setting from pg_settings
        where name in ('${[...names, "TimeZone", "jit", "listen_addresses"].join("','")}')`,
    )
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: "on",
      synchronous_commit: "on",
      data_checksums: "on",
      server_encoding: "UTF8",
      TimeZone: "UTC",
      jit: "off",
      listen_addresses: "127.0.0.1",
    })
    expect(
      await queryRows(
        postgres.url,
        "select current_database() as at, datcollate from pg_database where datname = current_database()",
      ),
    ).toEqual([{ at: "ledger", datcollate: "C" }])
    expect(postgres).toMatchObject({ version: expect.stringMatching(/^18\./) })
    expect(messages).toEqual([])
  })

  it("protects the password file, and rejects other passwords", async () => {
    const data = join(await temporaryFolder(), "data")
    const postgres = await startForTest(data)
    expect((await stat(data)).mode & 0o777).toBe(0o700)
    expect((await stat(join(data, "postgres.json"))).mode & 0o777).toBe(0o600)
    const other = new URL(postgres.url)
    other.password = "guessed"
    await expect(queryRows(other.href, "select 1")).rejects.toMatchObject({ code: "28P01" })
  })

  it("is repeated if it was killed halfway", async () => {
    const dataDir = await temporaryFolder()
    const watcher = watchFolder(dataDir)
    const begun = new Promise<void>((done) => {
      watcher.on("change", (_event, name) => {
        if (String(name).startsWith("postgres.new-")) done()
      })
    })
    const starter = startInChildProcess(dataDir)
    await begun
    watcher.close()
    starter.kill("SIGKILL")
    await once(starter, "exit")
    expect(existsSync(join(dataDir, "postgres"))).toBe(false)
    const postgres = await startForTest(dataDir)
    expect(await queryRows(postgres.url, "select 1 as one")).toEqual([{ one: 1 }])
    const made = (await readdir(dataDir)).toSorted()
    expect(made).toEqual(["postgres", "postgres.json", "postgres.log"])
  })
})

/** Starts PostgreSQL and aborts once a file with this prefix appears in a folder. @returns the outcome */
async function abortedStart(dataDir: string, folder: string, prefix: string): Promise<unknown> {
  const stop = new AbortController()
  const seen = watch(folder, { signal: stop.signal })
  const starting = startEmbeddedPostgres({ dataDir, log: () => undefined, signal: stop.signal })
  const outcome = starting.then((postgres) => postgres.stop()).catch((error: unknown) => error)
  for await (const { filename } of seen) if (filename?.startsWith(prefix) === true) break
  stop.abort("aborted")
  return outcome
}

it("leaves no partial cluster if it is aborted while the cluster is created", async () => {
  const dataDir = await temporaryFolder()
  expect(await abortedStart(dataDir, dataDir, "postgres.new-")).toBe("aborted")
  expect(await readdir(dataDir)).toEqual([])
})

it("leaves no process if it is aborted while PostgreSQL starts, and can be repeated", async () => {
  const dataDir = await temporaryFolder()
  const first = await startForTest(dataDir)
  await first.stop()
  const cluster = join(dataDir, "postgres")
  expect(await abortedStart(dataDir, cluster, "postmaster.pid")).toBe("aborted")
  expect(await readdir(cluster)).not.toContain("postmaster.pid")
  const next = await startForTest(dataDir)
  expect(await queryRows(next.url, "select 1 as one")).toEqual([{ one: 1 }])
})

it("does not begin if its signal is already aborted", async () => {
  const dataDir = join(await temporaryFolder(), "data")
  const starting = startForTest(dataDir, { signal: AbortSignal.abort("aborted") })
  await expect(starting).rejects.toBe("aborted")
  await expect(readdir(dataDir)).rejects.toThrow("ENOENT")
})

it("stops PostgreSQL if its process exits without a stop", async () => {
  const dataDir = await temporaryFolder()
  const starter = startInChildProcess(dataDir, 'process.stdin.once("end", () => process.exit(0))')
  const [line] = (await once(createInterface(starter.stdout), "line")) as [string]
  const { pid } = JSON.parse(line) as { pid: number }
  starter.stdin.end()
  expect(await once(starter, "exit")).toEqual([0, null])
  await expect.poll(() => isPidAlive(pid)).toBe(false)
})
