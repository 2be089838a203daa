/** Installed programs that read exported files. */
import { spawnSync } from "node:child_process"

/** Why tests with a program cannot run here; null if they can. */
export function missingProgramReason(program: string): string | null {
  const { error } = spawnSync(program, ["--version"])
  return error === undefined ? null : `${program} is not installed here`
}

/** Runs a program and returns its standard output. @throws Error with its standard error */
export function runTool(
  program: string,
  words: readonly string[],
  input: string | Buffer = "",
): string {
  // The files are UTF-8 in every locale.
  const env = { ...process.env, LC_ALL: "C.UTF-8" }
  const done = spawnSync(program, words, { input, env, encoding: "utf8", maxBuffer: 1 << 28 })
  if (done.status === 0) return done.stdout
  throw new Error(`${program} ${words.join(" ")}: ${done.stderr || String(done.error)}`)
}
