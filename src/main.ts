/**
 * The program. It loads the whole only for what is done in this process: help, and a command beside a
 * running server, need the catalogue and the admin socket alone.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { announced } from "../adapters/machine/data-folder/announced.ts"
import { serverOf } from "./frame/operator/cli/client.ts"
import { exportedCommand } from "./frame/operator/commands.ts"
import type { Catalogue } from "./frame/operator/cli/command.ts"
import type { Host } from "./frame/operator/cli/host.ts"
import { listenForStop } from "./frame/operator/cli/host.ts"
import { runCommandLine } from "./frame/operator/cli/execute.ts"
import { processTerminal } from "./frame/operator/cli/terminal.ts"
import type { Around, WorkHere } from "./bootstrap/commands/work-here.ts"
import type { Log } from "./frame/kernel/log.ts"
import { moduleAt } from "./modules.ts"

const { env } = process

const terminal = processTerminal(process)
/** A fault of the program is told of at any level: by the log, once anything is done that has one. */
const telling: { warn: Log["warn"] } = {
  warn: (message, error) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error ?? "")
    terminal.err(`${message}\n${why === "" ? "" : `${why}\n`}`)
  },
}
const stopping = listenForStop(process, (message, error) => telling.warn(message, error))
const { signal, isCrash } = stopping
const catalogue = JSON.parse(
  readFileSync(new URL("catalogue.json", import.meta.url), "utf8"),
) as Catalogue

async function livingServer() {
  const server = await announced(resolve(env["LEDGER_DATA_DIR"] || "./data"))
  if (server === null) return null
  const identity = await serverOf(server.socketPath, server.folderId)
  return identity === null ? null : { ...server, settings: identity.settings }
}

const around: Around = { env, terminal, stopping, livingServer }

/** What is done in this process, loaded once something is. */
const loaded: { work?: Promise<WorkHere> } = {}
const here = () =>
  (loaded.work ??= import("./bootstrap/commands/work-here.ts").then(({ openWork }) => {
    const work = openWork(around)
    telling.warn = work.warn
    return work
  }))

const host: Host = {
  catalogue,
  livingServer,
  commands: async () => (await here()).commands(),
  local: async ({ name, from = "" }) => exportedCommand(name, await moduleAt(from)),
  openLocal: async (options) => (await here()).openLocal(options),
  start: async (options) => (await here()).start(options),
  move: async (...args) => (await here()).move(...args),
  examine: async () => (await here()).examine(),
  bench: async (words) => (await here()).bench(words),
  settings: async () =>
    (await import("./bootstrap/commands/settings-here.ts")).settingsHere(
      catalogue,
      moduleAt,
      around,
    ),
}

async function main(): Promise<void> {
  const code = await runCommandLine(process.argv.slice(2), host, terminal, signal)
  /** Whether something is open still that would keep this process from ending. */
  const isLeft = (await loaded.work)?.isLeft() ?? false
  process.exitCode = isCrash() || (isLeft && code === 0) ? 1 : code
  // Nobody waits for what an interrupted command had in hand.
  if (isLeft || isCrash() || (signal.aborted && code !== 0)) process.exit()
}

void main()
