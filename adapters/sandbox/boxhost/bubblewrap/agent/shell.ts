/** The shell that runs the commands of callers. */

/** Runs `$1` by `bash` where the box has it, else by `sh`. */
export const SHELL_SCRIPT = `command -v bash > /dev/null && exec bash -c "$1"
exec sh -c "$1"`

/** The program and arguments that run a command as a caller typed it. */
export const shellArgv = (command: string): readonly string[] => [
  "sh",
  "-c",
  SHELL_SCRIPT,
  "sh",
  command,
]
