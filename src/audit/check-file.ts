/** Checks an export or a proof that an auditor received as a file. */
import { readFile, access, stat } from "node:fs/promises"
import type { HistorySummary } from "./check-history.ts"
import { HistoryFileFault, readCheckedHistory } from "./check-history.ts"
import type { ProofSummary } from "./check-proof.ts"
import { checkProof } from "./check-proof.ts"
import { openProgressMeter } from "./findings.ts"
import { constants, createReadStream } from "node:fs"

const PROGRESS_EVERY_EVENTS = 1_000

interface FileCheck {
  readonly path: string
  /** The only key that may have signed it, base64; null for any. */
  readonly publicKey: string | null
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * Checks an export or a proof.
 *
 * @throws FileFault at the first discrepancy; UnreadableFile if the file cannot be read
 */
export async function checkFile(check: FileCheck): Promise<HistorySummary | ProofSummary> {
  const { path, publicKey, progress, signal } = check
  const file = new HistoryFileReader(path, signal)
  const meter = openProgressMeter(file.fractionRead, progress)
  const lines = file.lines()
  const { value: first = "" } = (await lines.next()) as { value?: string }
  if (isExport(first)) {
    const history = readCheckedHistory(prependLine(first, lines), publicKey)
    let events = 0
    for (;;) {
      const { done, value } = await history.next()
      if (done === true) return value
      events += 1
      if (events % PROGRESS_EVERY_EVENTS === 0) meter.advance(null, PROGRESS_EVERY_EVENTS)
    }
  }
  await lines.return(undefined)
  return checkProof(parseProof(await readFile(path, "utf8")), publicKey)
}

/** Puts the first line back before the others. */
async function* prependLine(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

function isExport(first: string): boolean {
  return first.startsWith('{"companyLedger":"export"')
}

/** @throws FileFault if it is not a proof */
function parseProof(text: string): object {
  try {
    const parsed: unknown = JSON.parse(text)
    const isProof = typeof parsed === "object" && parsed !== null && "companyLedger" in parsed
    if (isProof && parsed.companyLedger === "proof") return parsed
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const expected = "an export or a proof of company-ledger"
  throw new HistoryFileFault({ line: 1, expected, found: text.slice(0, 60) })
}

/** No written line is longer, in characters; a longer one was changed. */
const MAX_LINE_CHARACTERS = 64 * 1024 * 1024

/** The file cannot be read. The message says why. */
class UnreadableFile extends Error {
  override readonly name = "UnreadableFile"
}

/** @throws UnreadableFile if the file does not exist or this user may not read it */
async function readableSizeOf(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new UnreadableFile(`${path} is not a file.`)
    await access(path, constants.R_OK)
    return found.size
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : ""
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new UnreadableFile(`There is no file ${path}.`, { cause: error })
    }
    if (code !== "EACCES" && code !== "EPERM") throw error
    throw new UnreadableFile(`This user has no permission to read ${path}.`, { cause: error })
  }
}

/** Reads a file from its first line to its last. */
export class HistoryFileReader {
  readonly #path: string
  readonly #signal: AbortSignal
  #size = 0
  #read = 0

  /** @param signal aborted when the result is no longer needed */
  constructor(path: string, signal: AbortSignal) {
    this.#path = path
    this.#signal = signal
  }

  /** The share of the file that was read, from 0 to 1. */
  readonly fractionRead = (): number => (this.#size === 0 ? 0 : this.#read / this.#size)

  /**
   * Yields the lines without their ends. A last line without an end gets U+0000 appended, which no
   * complete line contains.
   *
   * @throws UnreadableFile if the file cannot be read; the operating system's errors; RangeError
   * for a line that is too long
   */
  async *lines(): AsyncGenerator<string> {
    this.#size = await readableSizeOf(this.#path)
    let rest = ""
    const stream = createReadStream(this.#path, "utf8")
    for await (const part of stream as AsyncIterable<string>) {
      this.#signal.throwIfAborted()
      this.#read = stream.bytesRead
      const lines = (rest + part).split("\n")
      rest = lines.pop() ?? ""
      if (rest.length > MAX_LINE_CHARACTERS)
        throw new RangeError(`A line is longer than ${MAX_LINE_CHARACTERS} characters.`)
      yield* lines
    }
    if (rest !== "") yield `${rest}\u0000`
  }
}
