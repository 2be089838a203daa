import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished } from "vitest"
import { z } from "zod"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { NO_TRACING } from "../../adapters/telemetry/port.ts"
import type {
  AdminContext,
  AdminOperation,
  AdminPorts,
} from "../../src/frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../src/frame/operator/operation.ts"
import { catalogueOf } from "../../src/frame/operator/catalogue.ts"
import { findExportedCommand } from "../../src/frame/operator/commands.ts"
import { parseCommandLine } from "../../src/frame/operator/cli/command-parser.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { OperatorConnection } from "../../src/frame/operator/cli/client.ts"
import { openInProcess } from "../../src/frame/http/operator-app.ts"
import { runCommandLine } from "../../src/frame/operator/cli/run-command-line.ts"
import type { CommandLineHost } from "../../src/frame/operator/cli/command-line-host.ts"
import type { Terminal } from "../../src/frame/operator/cli/terminal.ts"
import { partialFake } from "../support/partial-fake.ts"

/** The only setting of a fake host. */
export const PORT_SETTING = { name: "PORT", value: "3000", source: "default" } as const

/** Ports that no fake operation touches. */
export const UNUSED_PORTS = partialFake<AdminPorts>({
  unresponsiveSince: () => null,
  pacer: machinePacer,
  runner: {},
  tracing: NO_TRACING,
  log: { info: () => undefined, warn: () => undefined },
})

/** An operation that accepts any input, runs `run` and renders its result like the real one. */
export function fakeOperation(
  name: string,
  run: (context: AdminContext, input: unknown) => Promise<unknown>,
): AdminOperation {
  const real = PROGRAM.operations.find((one) => one.name === name)
  return operation({ ...real, name, input: z.unknown(), run })
}

/** All commands of the command line. */
export const CATALOGUE = catalogueOf(PROGRAM)

/** Parses a line like the command line. */
export const parseLine = (line: string, columns = 80) =>
  parseCommandLine(CATALOGUE, splitWords(line), columns)

/** Opens operations on these stores, like the command line when no server runs. */
export async function openFakeStores(
  operations: readonly AdminOperation[],
  ports: AdminPorts,
  close: () => Promise<void> = async () => undefined,
): Promise<OperatorConnection> {
  const { send, close: closeRoutes } = await openInProcess(
    operations,
    ports,
    new AbortController().signal,
  )
  return { send, close: () => closeRoutes().finally(close) }
}

/** A host with fake operations. It records what the command line calls. */
export function fakeHost(
  operations: readonly AdminOperation[],
  overrides: Partial<CommandLineHost> = {},
): CommandLineHost & { readonly calls: string[] } {
  const calls: string[] = []
  return {
    calls,
    catalogue: CATALOGUE,
    commands: async () => PROGRAM.commands,
    loadLocalCommand: async ({ name, from = "" }) =>
      findExportedCommand(
        name,
        (await import(new URL(`../../src/${from}`, import.meta.url).href)) as object,
      ),
    runningServer: async () => null,
    openInProcess: async () => {
      calls.push("open")
      return openFakeStores(operations, UNUSED_PORTS, async () => void calls.push("close"))
    },
    start: async ({ demo }) => {
      calls.push(demo ? "start with demo" : "start")
      return 7
    },
    runMaintenance: async (name) => {
      calls.push(name)
      return { ok: true }
    },
    runDoctor: async () => [{ check: "node", state: "ok", says: "24.0.0", fix: null }],
    runBenchmarks: async (words) => {
      calls.push(["bench", ...words].join(" "))
      return 7
    },
    effectiveSettings: async () => ({ own: [PORT_SETTING], server: null }),
    ...overrides,
  }
}

/** A terminal that records its output. */
export function recordingTerminal(
  overrides: Partial<Terminal> = {},
): Terminal & { stdout: string; stderr: string } {
  const terminal = {
    stdout: "",
    stderr: "",
    out: (text: string | Uint8Array) => void (terminal.stdout += String(text)),
    err: (text: string) => void (terminal.stderr += text),
    isTTY: false,
    errIsTTY: false,
    columns: 80,
    ...overrides,
  }
  return terminal
}

/** Runs a command line in this process and returns its output and exit code. An interrupted command is abandoned after `giveUpMs` milliseconds. */
export async function runTestCommand(
  words: readonly string[],
  host: CommandLineHost,
  signal: AbortSignal = new AbortController().signal,
  giveUpMs?: number,
) {
  const terminal = recordingTerminal()
  const code = await runCommandLine(words, host, terminal, signal, giveUpMs)
  return { code, stdout: terminal.stdout, stderr: terminal.stderr }
}

/** A new folder for the running test, removed after it. */
export async function testFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ledger-cli-"))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Splits a line into words like a shell; double quotes keep spaces. */
export function splitWords(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "")
}

/** The refusal with which an operation is rejected. */
export async function operatorRefusalOf(done: Promise<unknown>): Promise<OperatorRefused> {
  const error: unknown = await done.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(OperatorRefused)
  return error as OperatorRefused
}
