/** The lines of a file, a piece of it in memory at a time. */
import { constants, createReadStream } from "node:fs"
import { access, stat } from "node:fs/promises"

/** No line that was written is longer, in characters: what is, was changed. */
const LONGEST_LINE = 64 * 1024 * 1024

/** There is no file that could be read. The message says why. */
class NoFile extends Error {
  override readonly name = "NoFile"
}

/** @throws NoFile where there is none, or nobody may read it here */
async function sizeOf(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new NoFile(`${path} is no file.`)
    await access(path, constants.R_OK)
    return found.size
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : ""
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new NoFile(`There is no file ${path}.`, { cause: error })
    }
    if (code !== "EACCES" && code !== "EPERM") throw error
    throw new NoFile(`The file ${path} may not be read by this user.`, { cause: error })
  }
}

/** A file that is read from its first line to its last. */
export class FileLines {
  readonly #path: string
  readonly #signal: AbortSignal
  #size = 0
  #read = 0

  /** @param signal aborted where nobody waits any more */
  constructor(path: string, signal: AbortSignal) {
    this.#path = path
    this.#signal = signal
  }

  /** How much of it was read, from 0 to 1. */
  readonly share = (): number => (this.#size === 0 ? 0 : this.#read / this.#size)

  /**
   * The lines without their ends; one that was cut off before its end comes with U+0000 behind it,
   * which no line has.
   *
   * @throws NoFile where there is none that can be read; the operating system's errors; RangeError
   * for a line without end
   */
  async *lines(): AsyncGenerator<string> {
    this.#size = await sizeOf(this.#path)
    let rest = ""
    const stream = createReadStream(this.#path, "utf8")
    for await (const part of stream as AsyncIterable<string>) {
      this.#signal.throwIfAborted()
      this.#read = stream.bytesRead
      const lines = (rest + part).split("\n")
      rest = lines.pop() ?? ""
      if (rest.length > LONGEST_LINE) throw new RangeError("It has a line without an end.")
      yield* lines
    }
    if (rest !== "") yield `${rest}\u0000`
  }
}
