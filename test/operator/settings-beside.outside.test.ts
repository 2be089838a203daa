/** The settings that a command shows beside a server that was started with others. */
import process from "node:process"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Place, ServerProcess } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"

const MASTER_KEY = "ab".repeat(32)

let place: Place
let server: ServerProcess
/** The same data folder, in an environment of its own. */
let beside: Place
beforeAll(async () => {
  place = await makePlace({ RATE_LIMITS: "off", LEDGER_MASTER_KEY: MASTER_KEY })
  server = await place.start()
  beside = await makePlace({ LEDGER_DATA_DIR: place.dataDir })
})
afterAll(async () => {
  await beside.clear()
  await place.clear()
})

it("are the server's own beside the command's, and secrets nobody's", async () => {
  const { settings } = await beside.ledger("config")
  expect(settings).toContainEqual({
    name: "RATE_LIMITS",
    value: "on",
    source: "default",
    server: "off",
  })
  expect(settings).toContainEqual({
    name: "LEDGER_MASTER_KEY",
    value: "(unset)",
    source: "default",
    server: "***",
  })
  expect(JSON.stringify(settings)).not.toContain(MASTER_KEY)
})

it("are the command's alone where the server does not answer, and that is said", async () => {
  process.kill(server.pid, "SIGSTOP")
  try {
    const { code, stdout, stderr } = await beside.attempt("config", "--json")
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/holds this data folder and does not/),
    ])
    expect(JSON.parse(stdout).settings).toContainEqual({
      name: "RATE_LIMITS",
      value: "on",
      source: "default",
    })
  } finally {
    process.kill(server.pid, "SIGCONT")
  }
  expect(await server.end("SIGTERM")).toBe(0)
})

it("are the command's alone where no server runs", async () => {
  const { settings } = await beside.ledger("config")
  expect(settings).toContainEqual({
    name: "RATE_LIMITS",
    value: "on",
    source: "default",
  })
})
