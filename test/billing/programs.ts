/** Programs that read what was exported, where the machine has them. */
import { spawnSync } from "node:child_process"

/** Why tests with a program cannot run here; null where they can. */
export function missingProgramReason(program: string): string | null {
  const { error } = spawnSync(program, ["--version"])
  return error === undefined ? null : `${program} is not installed here`
}

/** Runs a program and answers what it printed. @throws Error with what it complained of */
export function runTool(
  program: string,
  words: readonly string[],
  input: string | Buffer = "",
): string {
  // Whose files these are is nobody's locale: they are UTF-8.
  const env = { ...process.env, LC_ALL: "C.UTF-8" }
  const done = spawnSync(program, words, { input, env, encoding: "utf8", maxBuffer: 1 << 28 })
  if (done.status === 0) return done.stdout
  throw new Error(`${program} ${words.join(" ")}: ${done.stderr || String(done.error)}`)
}
