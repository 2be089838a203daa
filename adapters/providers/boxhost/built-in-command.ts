/** What a command of a built-in box is given, and what it may reach. */

/** A file or a folder of a built-in box. */
export interface MemoryFile {
  readonly type: "file" | "directory"
  readonly bytes: Buffer
  readonly isExecutable: boolean
  /** UTC milliseconds. */
  readonly modifiedAt: number
}

/** The files of a built-in box, by their absolute paths. */
export type MemoryFiles = Map<string, MemoryFile>

/** What git has in a built-in box. */
export interface MemoryCode {
  /** Null where there is no repository. */
  branch: string | null
  tip: string | null
  /** The objects that were brought or made, by their ids. */
  readonly objects: Map<string, MemoryObject>
}

/** An object of git. */
export interface MemoryObject {
  readonly type: "commit" | "tree" | "blob" | "tag"
  readonly bytes: Buffer
}

/** A command as it is played. */
export interface Command {
  readonly argv: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly stdin?: AsyncIterable<Uint8Array>
  readonly out: (bytes: Uint8Array) => void
  readonly err: (bytes: Uint8Array) => void
  readonly files: MemoryFiles
  readonly code: MemoryCode
  /** Milliseconds; also for ever. @throws Ended where its time is over by then, or it was ended */
  readonly pause: (ms: number) => Promise<void>
  /** From now on it answers on a port. */
  readonly listen: (port: number) => void
  readonly now: () => number
}

/** A script that is known by its text; answers its exit code. `args` are those behind its name. */
export type FixedScript = (command: Command, args: readonly string[]) => Promise<number>

/** A command was ended. */
export class Ended extends Error {
  override readonly name = "Ended"
  readonly exitCode: number
  constructor(exitCode: number) {
    super(`ended with ${exitCode}`)
    this.exitCode = exitCode
  }
}

/** All that a command is given. */
export async function inputOf({ stdin }: Pick<Command, "stdin">): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stdin ?? []) pieces.push(piece)
  return Buffer.concat(pieces)
}
