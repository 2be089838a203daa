import { once } from "node:events"
import { existsSync, watch } from "node:fs"
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { query, startElsewhere, startForTest, temporaryFolder } from "../support/embedded.ts"

describe("the first start", () => {
  it("makes a cluster that flushes, checks its pages and speaks UTF-8 and UTC", async () => {
    const said: string[] = []
    const dataDir = join(await temporaryFolder(), "data")
    const postgres = await startForTest(dataDir, { log: (sentence) => void said.push(sentence) })
    const names = ["fsync", "synchronous_commit", "data_checksums", "server_encoding"]
    const rows = await query<{ name: string; setting: string }>(
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
      await query(
        postgres.url,
        "select current_database() as at, datcollate from pg_database where datname = current_database()",
      ),
    ).toEqual([{ at: "ledger", datcollate: "C" }])
    expect(postgres).toMatchObject({ adopted: false, version: expect.stringMatching(/^18\./) })
    expect(said).toEqual([])
  })

  it("keeps the password to its owner, and nobody enters with another", async () => {
    const data = join(await temporaryFolder(), "data")
    const postgres = await startForTest(data)
    expect((await stat(data)).mode & 0o777).toBe(0o700)
    expect((await stat(join(data, "postgres.json"))).mode & 0o777).toBe(0o600)
    const other = new URL(postgres.url)
    other.password = "guessed"
    await expect(query(other.href, "select 1")).rejects.toMatchObject({ code: "28P01" })
  })

  it("is made anew when it was killed half way", async () => {
    const dataDir = await temporaryFolder()
    const watcher = watch(dataDir)
    const begun = new Promise<void>((done) => {
      watcher.on("change", (_event, name) => {
        if (String(name).startsWith("postgres.new-")) done()
      })
    })
    const starter = startElsewhere(dataDir)
    await begun
    watcher.close()
    starter.kill("SIGKILL")
    await once(starter, "exit")
    expect(existsSync(join(dataDir, "postgres"))).toBe(false)
    const postgres = await startForTest(dataDir)
    expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }])
    const made = (await readdir(dataDir)).toSorted()
    expect(made).toEqual(["postgres", "postgres.json", "postgres.log"])
  })
})
