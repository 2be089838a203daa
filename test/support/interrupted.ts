/** Commands that are interrupted as an operator does it: real processes, real signals. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { watch } from "node:fs/promises"
import { BUNDLE } from "../../bin/program.mjs"
import type { Place } from "../support/server-process.ts"

/** Resolves once a name that begins so appears in a folder, or what has it is written. */
export async function appeared(
  folder: string,
  begins: string,
  event: "rename" | "change" = "rename",
): Promise<void> {
  for await (const { eventType, filename } of watch(folder)) {
    if (eventType === event && filename?.startsWith(begins) === true) return
  }
}

/** How an interrupted command ended. */
export interface Interrupted {
  /** Its exit code; null where the signal ended it. */
  readonly code: unknown
  readonly stderr: string
}

/** Gives a command and sends it the signals, in their order, as soon as `when` resolves. */
export async function interrupted(
  { dataDir }: Pick<Place, "dataDir">,
  words: readonly string[],
  when: Promise<unknown>,
  signals: readonly NodeJS.Signals[] = ["SIGINT"],
): Promise<Interrupted> {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env
  const own = { LEDGER_DATA_DIR: dataDir, PORT: "0" }
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...own }
  const child = spawn(process.execPath, [BUNDLE, ...words], {
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
