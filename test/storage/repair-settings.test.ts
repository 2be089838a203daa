/** `store repair-settings` shows events again that a stream's settings hide, even if no server can start. */
import type { StopHandle } from "../../src/frame/operator/cli/command-line-host.ts"
import { afterEach, beforeEach, expect, it } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import { openLocalCommands } from "../../src/bootstrap/commands/local-commands.ts"
import { repairSettingsCommand } from "../../src/storage/operate/store-commands.ts"
import { someEvents } from "../contracts/event-store-fixture.ts"
import { fakeHost, recordingTerminal, runTestCommand } from "../operator/fake-host.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { partialFake } from "../support/partial-fake.ts"

const PAGE = { isTTY: false, columns: 80 }
const HIDDEN = "9223372036854775807"

let server: EventStoreDbServer
beforeEach(async () => {
  server = await EventStoreDbServer.start()
  const store = openEventStoreDb({ url: server.url })
  await store.append("prices", someEvents(3), NO_STREAM)
  await store.close()
})
afterEach(() => server.stop())

/** Runs the command as the command line does, with these settings. */
async function repair(
  input: Readonly<Record<string, unknown>>,
  env: object = { LEDGER_EVENTSTORE_URL: server.url },
) {
  const commands = openLocalCommands({
    env: { ...env },
    terminal: recordingTerminal(),
    stopping: partialFake<StopHandle>({
      signal: new AbortController().signal,
      requestedBy: () => "test",
    }),
    runningServer: async () => null,
  })
  const talk = { progress: () => undefined, signal: new AbortController().signal }
  return commands.runMaintenance("store repair-settings", input, talk)
}

const text = (found: unknown): string => repairSettingsCommand.render(found, PAGE)

it("shows the settings that hide events, removes only those, and finds the first event again", async () => {
  server.log.set("prices", { $maxCount: 1, $acl: { $w: "ops" } })
  const hidden = await repair({ stream: "prices", show: true })
  expect(hidden).toEqual({
    ok: false,
    stream: "prices",
    hiding: { $maxCount: "1" },
    isRemoved: false,
    firstRevision: 2,
  })
  expect(text(hidden)).toContain("without --show")
  const repaired = await repair({ stream: "prices" })
  expect(repaired).toMatchObject({ ok: true, isRemoved: true, firstRevision: 0 })
  expect(text(repaired)).toMatch(/\$maxCount 1/)
  // The command reads no installation, so it does not know which streams are held back.
  expect(text(repaired)).toContain(
    '"projections status" still lists it, run "store release prices"',
  )
  expect(text(hidden)).not.toContain("store release")
  const settings = server.log.stream("$$prices")?.at(-1)
  expect(JSON.parse(Buffer.from(settings?.data ?? []).toString())).toEqual({ $acl: { $w: "ops" } })
  expect(settings?.type).toBe("$metadata")
  // A stream whose settings hide nothing is not changed.
  const count = server.log.stream("$$prices")?.length
  expect(await repair({ stream: "prices" })).toMatchObject({
    ok: true,
    hiding: {},
    isRemoved: false,
  })
  expect(server.log.stream("$$prices")).toHaveLength(count ?? 0)
})

it("restores a deleted stream, and prints the setting of its deletion exactly", async () => {
  server.log.deleteSoftly("prices")
  expect(await repair({ stream: "prices", show: true })).toMatchObject({
    ok: false,
    hiding: { $tb: HIDDEN },
    firstRevision: null,
  })
  expect(await repair({ stream: "prices" })).toMatchObject({ ok: true, hiding: { $tb: HIDDEN } })
})

it("says that scavenged events must be restored from a backup", async () => {
  server.log.set("prices", { $maxCount: 1 })
  server.log.scavenge(Date.now())
  const found = await repair({ stream: "prices" })
  expect(found).toMatchObject({ ok: false, isRemoved: true, firstRevision: 2 })
  expect(text(found)).toContain("restore them from a backup")
})

it("rejects streams that it cannot repair, with the fix", async () => {
  await expect(repair({ stream: "prices" }, {})).rejects.toThrow(
    /LEDGER_EVENTSTORE_URL is not set, and the event store inside the database has no settings/,
  )
  await expect(repair({ stream: "orders-1" })).rejects.toThrow(
    "orders-1 is not a stream of the ledger",
  )
  server.log.deleteForGood("prices")
  await expect(repair({ stream: "prices" })).rejects.toThrow(
    "prices was permanently deleted, which no setting can undo. Restore the missing events from a backup",
  )
})

it("runs next to a running server", async () => {
  const host = fakeHost([], {
    runningServer: async () => ({ socketPath: "/nowhere" }),
    runMaintenance: async (_, input) => repair(input),
  })
  const { code, stdout } = await runTestCommand(
    ["store", "repair-settings", "prices", "--json"],
    host,
  )
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    { ok: true, stream: "prices", hiding: {}, isRemoved: false, firstRevision: 0 },
  ])
})
