/** Where the command line writes. */

/** Standard output and standard error, as much of them as the command line needs. */
export interface Terminal {
  /** Writes to standard output: text, or a piece of a file that is none. */
  readonly out: (text: string | Uint8Array) => void
  /** Writes to standard error. */
  readonly err: (text: string) => void
  /** Whether standard output is a terminal. */
  readonly isTTY: boolean
  /** Whether standard error is a terminal: only there can a line be rewritten. */
  readonly errIsTTY: boolean
  /** Characters in a line. */
  readonly columns: number
}

const DEFAULT_COLUMNS = 80

/** The terminal of this process. A reader that went away (`… | head`) is no fault. */
export function processTerminal({ stdout, stderr }: NodeJS.Process): Terminal {
  for (const stream of [stdout, stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error
    })
  }
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isTTY: Boolean(stdout.isTTY),
    errIsTTY: Boolean(stderr.isTTY),
    columns: stdout.columns || stderr.columns || DEFAULT_COLUMNS,
  }
}

/** Text that cannot move the cursor or turn the line around: such characters show as escapes. */
export function harmless(text: string): string {
  return text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return character === "\n" ? "\n" : `\\u{${character.codePointAt(0)?.toString(16)}}`
  })
}
