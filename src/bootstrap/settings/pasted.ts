/** The program as it is called from a shell, for lines that are printed to be pasted there. */
import { relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** The program's file: a clone has no command of its name before somebody makes one. */
const PROGRAM_FILE = fileURLToPath(new URL("../../../bin/ledger.mjs", import.meta.url))

/**
 * What begins a line that calls this program on a data folder, from the shell that started it or, where
 * the folder is not the default, from any.
 *
 * @param folder where the shell stands
 */
export function pastedProgram(dataDir: string, folder = process.cwd()): string {
  if (dataDir !== resolve(folder, "data")) {
    return `LEDGER_DATA_DIR=${quoted(dataDir)} ${quoted(PROGRAM_FILE)}`
  }
  const near = relative(folder, PROGRAM_FILE)
  return quoted(near.startsWith("..") ? PROGRAM_FILE : near)
}

/** A word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w/.@:+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
