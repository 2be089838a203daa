/** Checking a file that an auditor was given, whatever kind it is of. */
import { readFile } from "node:fs/promises"
import { FileFault, checkedHistory } from "./check-history.ts"
import type { HistorySummary } from "./check-history.ts"
import { checkProof } from "./check-proof.ts"
import type { ProofSummary } from "./check-proof.ts"
import { FileLines } from "./file-lines.ts"
import { paceTo } from "./pace.ts"

const TOLD_EVERY = 1_000

/** How a file is checked. */
export interface FileCheck {
  readonly path: string
  /** The only key that may have signed it, base64; null for any. */
  readonly publicKey: string | null
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * Checks an export or a proof.
 *
 * @throws FileFault at the first place that does not hold; NoFile where there is nothing to read
 */
export async function checkFile(check: FileCheck): Promise<HistorySummary | ProofSummary> {
  const { path, publicKey, progress, signal } = check
  const file = new FileLines(path, signal)
  const pace = paceTo(file.share, progress)
  const lines = file.lines()
  const { value: first = "" } = (await lines.next()) as { value?: string }
  if (isExport(first)) {
    const history = checkedHistory(startingWith(first, lines), publicKey)
    let events = 0
    for (;;) {
      const { done, value } = await history.next()
      if (done === true) return value
      events += 1
      if (events % TOLD_EVERY === 0) pace.at(null, TOLD_EVERY)
    }
  }
  await lines.return(undefined)
  return checkProof(parseProof(await readFile(path, "utf8")), publicKey)
}

/** The lines again, with the one that was taken before them. */
async function* startingWith(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

function isExport(first: string): boolean {
  return first.startsWith('{"companyLedger":"export"')
}

/** @throws FileFault where it is no proof */
function parseProof(text: string): object {
  try {
    const parsed: unknown = JSON.parse(text)
    const isProof = typeof parsed === "object" && parsed !== null && "companyLedger" in parsed
    if (isProof && parsed.companyLedger === "proof") return parsed
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const expected = "an export or a proof of company-ledger"
  throw new FileFault({ line: 1, expected, found: text.slice(0, 60) })
}
