/** Several processes that are stopped, or asked for something, while they start. */
import { expect, it, onTestFinished } from "vitest"
import { holdFolder, openDataFolder } from "../../adapters/machine/data-folder/data-folder.ts"
import { makePlace } from "../support/server-process.ts"

const LONG_MS = 120_000

it(
  "end in order where the first serves and the others do not yet",
  async () => {
    const place = await makePlace({ LOG_LEVEL: "info" })
    onTestFinished(() => place.clear())
    const server = await place.start("--processes", "3")
    // The first has just said where it listens; the others are about to load.
    expect(await server.end("SIGTERM")).toBe(0)
    expect(server.log()).not.toContain("stopped before all was done")
    expect(server.log()).not.toContain("all processes serve")
  },
  LONG_MS,
)

it(
  "have a command say so where no server takes it, and a second server that there is one",
  async () => {
    const place = await makePlace()
    onTestFinished(() => place.clear())
    expect(await (await place.start()).end("SIGTERM")).toBe(0)
    // As the parent does while its first process is started again.
    const hold = await holdFolder(await openDataFolder(place.dataDir))
    onTestFinished(async () => hold?.release())
    const { code, stderr } = await place.attempt("company", "list")
    expect(code).toBe(1)
    expect(stderr).toMatch(/takes no commands just now: .* Give this one again in a moment\.\n$/)
    const second = await place.attempt("start")
    expect(second.code).toBe(1)
    expect(second.stderr).toMatch(/^Another company-ledger is using .*: stop it first/)
  },
  LONG_MS,
)
