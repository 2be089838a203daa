/** The commands as an operator runs them: real processes, an embedded PostgreSQL, Ctrl-C. */
import { stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import type { ServerDataFolder } from "../support/server-process.ts"
import { interruptCommand, makeDataFolder } from "../support/server-process.ts"

const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function newDataFolder(settings: Record<string, string> = {}): Promise<ServerDataFolder> {
  const folder = await makeDataFolder(settings)
  closing.push(() => folder.removeFiles())
  return folder
}

describe("an installation that is migrated", () => {
  /** `home` has the server and writes the backup; it is restored in `other`. */
  let home: ServerDataFolder
  let other: ServerDataFolder
  let file: string
  let events: number
  let shown: unknown

  it("is backed up while its server runs", async () => {
    home = await newDataFolder()
    const server = await home.start()
    const { operate } = home
    await operate("company create", { name: "acme", funds: "50" })
    await operate("charge", { company: "acme", class: "ai", dollars: "1", item: "x" })
    shown = await operate("company show", { company: "acme" })
    file = join(dirname(home.dataDir), "acme.backup")
    const written = await home.runCommand("backup", file)
    events = written.events
    expect(written).toMatchObject({ ok: true, file, audit: { ok: true } })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(file)).size).toBe(written.bytes)
    const whileRunning = await home.tryCommand("restore", file, "--json")
    expect(whileRunning.code).toBe(1)
    expect(JSON.parse(whileRunning.stdout)).toMatchObject({ error: "conflict" })
    expect(await server.endBySignal("SIGTERM")).toBe(0)
    const withoutFolder = await home.tryCommand("backup", join(dirname(file), "none", "b"))
    expect(withoutFolder).toMatchObject({ code: 1 })
    expect(withoutFolder.stderr).toMatch(/its folder does not exist/)
  })

  it("is restored into an empty folder only", async () => {
    other = await newDataFolder()
    const restored = await other.runCommand("restore", file)
    expect(restored).toMatchObject({ ok: true, events, audit: { ok: true } })
    expect(await other.runCommand("company", "show", "acme")).toEqual(shown)
    const twice = await other.tryCommand("restore", file, "--json")
    expect(twice.code).toBe(1)
    expect(JSON.parse(twice.stdout)).toMatchObject({ error: "not_empty" })
  })

  it("is copied to EventStoreDB even after an interruption, and runs there", async () => {
    const store = await EventStoreDbServer.start()
    closing.push(() => store.stop())
    const begun = Promise.withResolvers<undefined>()
    store.faultOf = () => {
      begun.resolve(undefined)
      // The answer never arrives, so the command is interrupted while it waits.
      return "silent-stored"
    }
    const words = ["store", "migrate", "--to", store.url]
    const interrupted = await interruptCommand(other, words, begun.promise)
    expect(interrupted).toMatchObject({ code: 130 })
    expect(interrupted.stderr).toMatch(/Run the same command again to continue/)
    store.faultOf = () => "none"
    const copied = await other.runCommand(...words)
    expect(copied).toMatchObject({ ok: true, to: store.url, events })
    expect(copied.alreadyThere).toBeGreaterThan(0)
    const without = await other.tryCommand("company", "list")
    expect(without).toMatchObject({ code: 1 })
    expect(without.stderr).toMatch(/Set LEDGER_EVENTSTORE_URL to that server\./)
    const moved = await newDataFolder({
      LEDGER_DATA_DIR: other.dataDir,
      LEDGER_EVENTSTORE_URL: store.url,
    })
    const running = await moved.start()
    const { operate } = other
    expect(await operate("company show", { company: "acme" })).toEqual(shown)
    expect(running.lines.join("\n")).toContain(`event store  ${store.url}`)
    expect(await operate("audit verify")).toMatchObject({ ok: true })
    expect(await running.endBySignal("SIGTERM")).toBe(0)
  })
})

it("says in its help that the file has secrets and who can read it", async () => {
  const home = await newDataFolder()
  const help = await home.tryCommand("backup", "--help")
  expect(help).toMatchObject({ code: 0 })
  expect(help.stdout).toMatch(/has secrets[^]*0600/)
})
