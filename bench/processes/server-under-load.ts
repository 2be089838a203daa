/** A real server with so many processes, and companies whose money callers spend. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { programFile } from "../../bin/program.mjs"
import { assertMeasurement } from "../benchmark.ts"
import { openDatabaseFolder } from "../fixtures/database-folder.ts"
import { checkLoad } from "../load/check-load.ts"
import { generateLoad } from "../load/generate-load.ts"
import { CallGenerator } from "../load/call-generator.ts"
import type { LoadCompany } from "../load/load-server.ts"
import { findLoadServer, openLoadCompany } from "../load/load-server.ts"
import { parseCallMix } from "../load/call-mix.ts"
import type { ServerCpu } from "./process-cpu.ts"
import { serverCpuOf } from "./process-cpu.ts"

const CONNECTIONS = 64
const KEYS = 5
const LEAD_IN_MS = 3_000

export interface ServerUnderLoad {
  /** Sends texts for so long; returns the texts per second and the cost of each. */
  readonly sendTexts: (
    forMs: number,
  ) => Promise<{ readonly perSecond: number; readonly each: ServerCpu }>
  /** @throws InvalidMeasurement if a charge is wrong */
  readonly check: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Starts a server on a new folder, with companies. */
export async function openServerUnderLoad(
  processes: number,
  companies: number,
  signal: AbortSignal,
): Promise<ServerUnderLoad> {
  const { dataDir, remove } = await openDatabaseFolder(null)
  const own = { LEDGER_DATA_DIR: dataDir, PORT: "0", LOG_LEVEL: "warn", RATE_LIMITS: "off" }
  const words = [programFile(), "start", "--processes", String(processes)]
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, words, {
    env: { PATH, HOME, TMPDIR, ...own },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const ended = once(child, "exit")
  const close = async () => {
    child.kill("SIGTERM")
    await ended
    await remove()
  }
  try {
    const lines = createInterface({ input: child.stdout })
    for await (const line of lines) if (line.includes("listens on")) break
    child.stdout.resume()
    const server = await findLoadServer(dataDir, signal, () => undefined)
    const opened: LoadCompany[] = []
    while (opened.length < companies) {
      signal.throwIfAborted()
      opened.push(await openLoadCompany(server, `${opened.length}`, KEYS))
    }
    const calls = opened.map((company, number) => new CallGenerator(company, `${number}`))
    const sent = () => calls.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0)
    const send = async (forMs: number) => {
      const { wrong } = await generateLoad({
        ...server,
        calls,
        forMs,
        connections: CONNECTIONS,
        mix: parseCallMix("texts=1"),
        report: () => undefined,
        signal,
      })
      assertMeasurement(wrong.size === 0, [...wrong.keys()].join("; "))
    }
    return {
      close,
      sendTexts: async (forMs) => {
        // The first moments of a server that was idle are not measured.
        await send(LEAD_IN_MS)
        const [before, costs, began] = [sent(), serverCpuOf(child.pid ?? 0), performance.now()]
        await send(forMs)
        const [texts, tookMs] = [sent() - before, performance.now() - began]
        // The jobs of a text are part of its cost.
        await server.operate("wait", {})
        const now = serverCpuOf(child.pid ?? 0)
        const each = (what: keyof ServerCpu) => (now[what] - costs[what]) / texts
        const cost = { program: each("program"), database: each("database") }
        return { perSecond: (texts * 1_000) / tookMs, each: cost }
      },
      check: async () => {
        const answeredIds = new Set(calls.flatMap(({ acknowledged }) => [...acknowledged]))
        const findings = await checkLoad(server, opened, answeredIds)
        for (const { name, ok, detail } of findings) assertMeasurement(ok, `${name}: ${detail}`)
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}
