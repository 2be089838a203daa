/**
 * Counts the source files with a function that a warm request runs. The server runs from the sources and V8 counts the
 * calls of each function, including those of background work.
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { SOURCE_MAIN } from "../../bin/program.mjs"
import { ROOT } from "./source-tree.ts"

/** Requests before the measured one, so that everything is loaded and compiled. */
const WARM_UP = 20
/** Number of measurements. The smallest count is used, because background timers add files. */
const MEASUREMENTS = 5

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly {
      readonly functionName: string
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
    }[]
  }[]
}

/** The files below the project's source folders with a function that was called. */
function filesIn({ result }: Coverage): readonly string[] {
  return result.flatMap(({ url, functions }) => {
    if (!url.startsWith("file:")) return []
    const path = relative(ROOT, fileURLToPath(url))
    const isCalled = functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
    return isCalled && /^(domain|projections|adapters|src)\//.test(path) ? [path] : []
  })
}

/** Opens V8's inspector over its socket. */
async function openInspector(url: string) {
  const socket = new WebSocket(url)
  const waiting = new Map<number, (result: unknown) => void>()
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown }
    if (id !== undefined) waiting.get(id)?.(result)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve)
    socket.addEventListener("error", reject)
  })
  let last = 0
  return {
    ask: (method: string, params: object = {}) =>
      new Promise<unknown>((resolve) => {
        last += 1
        waiting.set(last, resolve)
        socket.send(JSON.stringify({ id: last, method, params }))
      }),
    close: () => socket.close(),
  }
}

const { values, positionals } = parseArgs({
  options: { list: { type: "boolean", default: false } },
  allowPositionals: true,
})
const path = positionals[0] ?? "/api/v1/phone/optins"
const root = await mkdtemp(join(tmpdir(), "company-ledger-warm-"))
const env = { ...process.env, LEDGER_DATA_DIR: join(root, "data"), PORT: "0", LOG_LEVEL: "warn" }
const server = spawn(process.execPath, ["--inspect=127.0.0.1:0", SOURCE_MAIN, "start"], {
  env,
  stdio: ["ignore", "pipe", "pipe"],
})
const ended = new Promise((resolve) => server.once("exit", resolve))
try {
  const found = async (stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> => {
    for await (const line of createInterface({ input: stream })) {
      const match = pattern.exec(line)?.[1]
      if (match !== undefined) return match
    }
    throw new Error("the server ended before it listened")
  }
  const [inspected, url] = await Promise.all([
    found(server.stderr, /listening on (ws:\S+)/),
    found(server.stdout, /listens on (\S+)/),
  ])
  server.stderr.resume()
  server.stdout.resume()
  const command = (...args: readonly string[]) =>
    JSON.parse(
      execFileSync(process.execPath, [SOURCE_MAIN, ...args, "--json"], { env, encoding: "utf8" }),
    ) as Record<string, string>
  const { ownerId } = command("company", "create", "acme", "--owner-name", "Ada")
  const owner = ["--company", "acme", "--person", String(ownerId), "--all-operations"]
  const { key } = command("key", "create", ...owner)
  const ask = async () => {
    const answer = await fetch(new URL(path, url), { headers: { authorization: `Bearer ${key}` } })
    await answer.text()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  }
  for (let i = 0; i < WARM_UP; i += 1) await ask()
  const inspector = await openInspector(inspected)
  await inspector.ask("Profiler.enable")
  await inspector.ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  let fewest: readonly string[] | null = null
  for (let i = 0; i < MEASUREMENTS; i += 1) {
    await inspector.ask("Profiler.takePreciseCoverage")
    await ask()
    const files = filesIn((await inspector.ask("Profiler.takePreciseCoverage")) as Coverage)
    if (fewest === null || files.length < fewest.length) fewest = files
  }
  inspector.close()
  if (values.list) for (const file of fewest?.toSorted() ?? []) console.log(file)
  console.log(`${fewest?.length ?? 0} files have a function that a warm GET ${path} runs`)
} finally {
  server.kill("SIGTERM")
  await ended
  await rm(root, { recursive: true, force: true })
}
