/** A real server process with a data folder, and the command line, as a user runs them. */
import type { ChildProcess } from "node:child_process"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, watch } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { afterAll } from "vitest"
import { readRunningServer } from "../../adapters/machine/data-folder/running-server.ts"
import { BUNDLE_FILE } from "../../bin/program.mjs"
import { resolveBoxRunDir } from "../../src/boxes/settings.ts"
import { callOperation, sendOverSocket } from "../../src/frame/operator/cli/client.ts"
import { apiCallerAt } from "./api-caller.ts"
import type { OperationRunner } from "./company.ts"
import { newSignal } from "./signal.ts"
import type { World } from "./world.ts"

const run = promisify(execFile)

export interface ServerProcess {
  readonly url: string
  readonly pid: number
  /** Calls its API. */
  readonly call: World["call"]
  /** Lines printed so far. */
  readonly lines: readonly string[]
  /** The log so far. */
  readonly log: () => string
  /** Resolves once a condition holds, checked at each line of output or log. @throws if the server ends before */
  readonly until: (holds: () => boolean) => Promise<void>
  /** Resolves once its log has `times` matches. @throws if the server ends before */
  readonly untilLogged: (pattern: RegExp, times?: number) => Promise<void>
  /** Sends a signal and resolves with the exit code (null when a signal ended it). */
  readonly endBySignal: (signal: NodeJS.Signals) => Promise<number | null>
  /** Resolves with the exit code once the server has ended. */
  readonly ended: Promise<number | null>
}

/** A data folder with servers and commands on it; operations go through the socket of its server. */
export interface ServerDataFolder extends OperationRunner {
  readonly dataDir: string
  readonly start: (...options: string[]) => Promise<ServerProcess>
  /** Runs a command with `--json`; @throws if its exit code is not 0 */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly runCommand: (...words: string[]) => Promise<any>
  /** Runs a command; returns its exit code and output. */
  readonly tryCommand: (
    ...words: string[]
  ) => Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>
  /** Ends the remaining servers and removes the folder. */
  readonly removeFiles: () => Promise<void>
}

/** Makes a data folder in the system's temporary folder; `main` is the program, by default the bundle of this checkout. */
export async function makeDataFolder(
  settings: Record<string, string> = {},
  main = BUNDLE_FILE,
): Promise<ServerDataFolder> {
  const root = await mkdtemp(join(tmpdir(), "company-ledger-place-"))
  const dataDir = settings["LEDGER_DATA_DIR"] ?? join(root, "data")
  // The program must not see the rest of the test runner's environment, which sets BASE_URL.
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env
  const defaults = { LEDGER_DATA_DIR: dataDir, PORT: "0", LOG_LEVEL: "warn" }
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...defaults, ...settings }
  const servers = new Set<ChildProcess>()
  const tryCommand: ServerDataFolder["tryCommand"] = async (...words) => {
    try {
      const { stdout, stderr } = await run(process.execPath, [main, ...words], { env })
      return { code: 0, stdout, stderr }
    } catch (error) {
      const failed = error as { code?: unknown; stdout?: string; stderr?: string }
      if (typeof failed.code !== "number") throw error
      return { code: failed.code, stdout: failed.stdout ?? "", stderr: failed.stderr ?? "" }
    }
  }
  return {
    dataDir,
    start: async (...options) => {
      const child = spawn(process.execPath, [main, "start", ...options], { env })
      servers.add(child)
      child.once("exit", () => servers.delete(child))
      return serverOf(child)
    },
    tryCommand,
    operate: async (operation, input = {}) => {
      const found = await readRunningServer(dataDir)
      if (found === null) throw new Error(`no server runs on ${dataDir}`)
      const request = { operation, input, actor: "test", reason: null }
      const answer = await callOperation(sendOverSocket(found.socketPath), request, {
        signal: new AbortController().signal,
      })
      if ("error" in answer) throw new Error(`${operation}: ${JSON.stringify(answer.error)}`)
      return answer.result
    },
    runCommand: async (...words) => {
      const { code, stdout, stderr } = await tryCommand(...words, "--json")
      if (code !== 0) throw new Error(`${words.join(" ")} exited with ${code}: ${stdout}${stderr}`)
      return JSON.parse(stdout) as unknown
    },
    removeFiles: async () => {
      for (const child of servers) {
        const ended = new Promise((done) => child.once("exit", done))
        child.kill("SIGTERM")
        await ended
      }
      // The run folder of its boxes lies outside the data folder.
      for (const folder of [root, resolveBoxRunDir({}, dataDir)]) {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

/** Makes a data folder for the calling test file, and removes it after the file. Call it at the top level of the file. */
export async function ownDataFolder(settings?: Record<string, string>): Promise<ServerDataFolder> {
  const dataFolder = await makeDataFolder(settings)
  afterAll(() => dataFolder.removeFiles())
  return dataFolder
}

function serverOf(child: ChildProcess): Promise<ServerProcess> {
  const lines: string[] = []
  const errors: string[] = []
  const ended = new Promise<number | null>((done) => child.once("exit", (code) => done(code)))
  const { notify, until } = newSignal()
  child.stderr?.on("data", (data) => {
    errors.push(String(data))
    notify()
  })
  const untilServer: ServerProcess["until"] = async (holds) => {
    const hasEnded = ended.then(() => {
      throw new Error(`the server has ended: ${errors.join("")}`)
    })
    await Promise.race([until(holds), hasEnded])
  }
  return new Promise((listening, failed) => {
    if (child.stdout === null) throw new Error("the server's output is not read")
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line)
      notify()
      const url = /listens on (\S+)/.exec(line)?.[1]
      if (url === undefined) return
      listening({
        url,
        pid: child.pid as number,
        call: apiCallerAt(url),
        lines,
        log: () => errors.join(""),
        until: untilServer,
        untilLogged: (pattern, times = 1) =>
          untilServer(
            () => [...errors.join("").matchAll(new RegExp(pattern, "g"))].length >= times,
          ),
        ended,
        endBySignal: (signal) => {
          child.kill(signal)
          return ended
        },
      })
    })
    void ended.then((code) =>
      failed(new Error(`the server exited with ${code}: ${lines.join("\n")}${errors.join("")}`)),
    )
  })
}

/** Starts a server that ends by itself; returns its exit code, null if a signal ended it. */
export async function exitCodeOfStart(dataFolder: ServerDataFolder): Promise<number | null> {
  try {
    return await (
      await dataFolder.start()
    ).ended
  } catch (error) {
    // The server ended before it listened.
    if (!(error instanceof Error) || !error.message.startsWith("the server exited with null")) {
      throw error
    }
    return null
  }
}

/** Resolves once a file whose name has a prefix appears in a folder, or is written (`change`). */
export async function untilFileAppears(
  folder: string,
  prefix: string,
  event: "rename" | "change" = "rename",
): Promise<void> {
  for await (const { eventType, filename } of watch(folder)) {
    if (eventType === event && filename?.startsWith(prefix) === true) return
  }
}

interface InterruptedCommand {
  /** Exit code; null if a signal ended it. */
  readonly code: unknown
  readonly stderr: string
}

/** Starts a command, and sends it the signals in order once `when` resolves. */
export async function interruptCommand(
  { dataDir }: Pick<ServerDataFolder, "dataDir">,
  words: readonly string[],
  when: Promise<unknown>,
  signals: readonly NodeJS.Signals[] = ["SIGINT"],
): Promise<InterruptedCommand> {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env
  const settings = { LEDGER_DATA_DIR: dataDir, PORT: "0" }
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...settings }
  const child = spawn(process.execPath, [BUNDLE_FILE, ...words], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  })
  let stderr = ""
  child.stderr.on("data", (text) => (stderr += String(text)))
  child.stdout.resume()
  const ended = once(child, "close")
  await Promise.race([when, ended])
  for (const signal of signals) child.kill(signal)
  const [code] = (await ended) as [unknown]
  return { code, stderr }
}
