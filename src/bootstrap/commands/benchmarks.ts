/** `bench`: starts the benchmarks, which stand beside the program in a checkout and nowhere else. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { constants } from "node:os"
import { fileURLToPath } from "node:url"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"

/** What `npm run bench` runs. */
const BENCH_MAIN = fileURLToPath(new URL("../../../bench/main.ts", import.meta.url))
/** A package that they use and the program does not: without it only what serves was installed. */
const DEVELOPMENT_PACKAGE = "canonicalize"

/**
 * Runs the benchmarks in a process of their own, on this one's terminal. An abort interrupts them as
 * Ctrl-C does, and waits until they have put away what they began.
 *
 * @param words what to measure, as `npm run bench` takes it
 * @param program for tests: another script
 * @returns their exit code; 128 + n where signal n ended them
 * @throws StartupFault where they are not installed
 */
export async function runBenchmarks(
  words: readonly string[],
  signal: AbortSignal,
  program: string = BENCH_MAIN,
): Promise<number> {
  if (!existsSync(program)) {
    throw new StartupFault(
      "The benchmarks are not part of this installation: run them in a checkout of its source, " +
        "with npm run bench.",
    )
  }
  if (!isInstalled(DEVELOPMENT_PACKAGE, program)) {
    throw new StartupFault(
      "What the benchmarks need is not installed here: run npm ci without --omit=dev.",
    )
  }
  const args = [...process.execArgv, program, ...words]
  const child = spawn(process.execPath, args, { stdio: "inherit" })
  // A terminal's Ctrl-C reached them as well; the same signal again changes nothing there.
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
    // It is there, and not for `require`.
    if (code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return true
    throw error
  }
}
