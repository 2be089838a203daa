/** `bench`: starts the benchmarks, which only a checkout of the source has. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { constants } from "node:os"
import { fileURLToPath } from "node:url"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"

/** The script of `npm run bench`. */
const BENCH_MAIN = fileURLToPath(new URL("../../../bench/main.ts", import.meta.url))
/** A package that only the benchmarks use; it is missing if development packages were omitted. */
const DEVELOPMENT_PACKAGE = "canonicalize"

/**
 * Runs the benchmarks in a child process with the same terminal. An abort interrupts them as Ctrl-C does and waits
 * until they have cleaned up.
 *
 * @param words the arguments of `npm run bench`
 * @param program another script, for tests
 * @returns the exit code; 128 + n if signal n ended them
 * @throws StartupFault if they are not installed
 */
export async function runBenchmarks(
  words: readonly string[],
  signal: AbortSignal,
  program: string = BENCH_MAIN,
): Promise<number> {
  if (!existsSync(program)) {
    throw new StartupFault(
      "The benchmarks are not part of this installation. Run npm run bench in a checkout of the source.",
    )
  }
  if (!isInstalled(DEVELOPMENT_PACKAGE, program)) {
    throw new StartupFault(
      "The packages of the benchmarks are not installed. Run npm ci without --omit=dev.",
    )
  }
  const args = [...process.execArgv, program, ...words]
  const child = spawn(process.execPath, args, { stdio: "inherit" })
  // Ctrl-C in a terminal reaches the child too; a second SIGINT does no harm.
  const interrupt = () => child.kill("SIGINT")
  signal.addEventListener("abort", interrupt)
  if (signal.aborted) interrupt()
  try {
    const [code, name] = (await once(child, "close")) as ChildExit
    return name === null ? (code ?? 1) : 128 + constants.signals[name]
  } finally {
    signal.removeEventListener("abort", interrupt)
  }
}

type ChildExit = [code: number | null, signal: NodeJS.Signals | null]

function isInstalled(name: string, from: string): boolean {
  try {
    createRequire(from).resolve(name)
    return true
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined
    if (code === "MODULE_NOT_FOUND") return false
    // The package is installed, but not for `require`.
    if (code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return true
    throw error
  }
}
