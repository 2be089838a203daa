/** The shell that runs the commands of callers. */

/** Runs `$1` with `bash` if the box has it, else `sh`. */
export const SHELL_SCRIPT = `command -v bash > /dev/null && exec bash -c "$1"
exec sh -c "$1"`

/** The command line that runs a command as a caller typed it. */
export const shellArgv = (command: string): readonly string[] => [
  "sh",
  "-c",
  SHELL_SCRIPT,
  "sh",
  command,
]
