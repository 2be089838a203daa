/** Multiple processes that are stopped, or get a command, while they start. */
import { expect, it, onTestFinished } from "vitest"
import { lockFolder, openDataFolder } from "../../adapters/machine/data-folder/data-folder.ts"
import { makeDataFolder } from "../support/server-process.ts"

const LONG_MS = 120_000

it(
  "processes stop cleanly while only the first one serves",
  async () => {
    const place = await makeDataFolder({ LOG_LEVEL: "info" })
    onTestFinished(() => place.removeFiles())
    const server = await place.start("--processes", "3")
    // The first process has just logged its address; the others are about to load.
    expect(await server.endBySignal("SIGTERM")).toBe(0)
    expect(server.log()).not.toContain("stopped before all was done")
    expect(server.log()).not.toContain("all processes serve")
  },
  LONG_MS,
)

it(
  "a command says that no server takes it, and a second start that another one runs",
  async () => {
    const place = await makeDataFolder()
    onTestFinished(() => place.removeFiles())
    expect(await (await place.start()).endBySignal("SIGTERM")).toBe(0)
    // Holds the lock as the supervisor does while its first process is restarted.
    const hold = await lockFolder(await openDataFolder(place.dataDir))
    onTestFinished(async () => hold?.release())
    const { code, stderr } = await place.tryCommand("company", "list")
    expect(code).toBe(1)
    expect(stderr).toMatch(/takes no commands yet: .* Run this command again in a moment\.\n$/)
    const second = await place.tryCommand("start")
    expect(second.code).toBe(1)
    expect(second.stderr).toMatch(/^Another company-ledger is using .*\. Stop it first/)
  },
  LONG_MS,
)
