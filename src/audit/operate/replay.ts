/** `audit replay`: where the events come from, and by which rules they are decided again. */
import { companyOfStream, categoryOf } from "../../../domain/kernel/aggregate.ts"
import { readCheckedHistory } from "../check-history.ts"
import { HistoryFileReader } from "../check-file.ts"
import type { HistoryEvent } from "../history-file.ts"
import { loadLedgerRules } from "../alternative-rules.ts"
import type { LedgerRules } from "../alternative-rules.ts"
import { openProgressMeter } from "../findings.ts"
import type { EventPages, ReplayResult } from "../replay-history.ts"
import { replayHistory } from "../replay-history.ts"
import type { z } from "zod"
import type { LocalCommandContext } from "../../frame/operator/commands.ts"
import type { ReplayInput } from "./history-inputs.ts"

type ReplayCommandContext = LocalCommandContext<z.infer<typeof ReplayInput>>

const PAGE_EVENTS = 500
/** So many pieces may wait before the sender waits too. */
const MAX_BUFFERED_CHUNKS = 8

/** A file holds nothing of the company that was named. */
class NoSuchCompany extends Error {
  override readonly name = "NoSuchCompany"
}

/** What a replay found, and the other rules that it was by. */
export interface ReplayOutput extends ReplayResult {
  readonly rules?: string
}

/** Replays what the words name: other rules than the program's, a file, or both. */
export async function runLocalReplay(work: ReplayCommandContext): Promise<ReplayOutput> {
  const { company = null, rules: named = null, file = null } = work.input
  const pages = (rules: LedgerRules | null) =>
    replayHistory({
      rules,
      pages: (category) =>
        file === null
          ? pagesFromStores(work, company, category)
          : pagesFromFile(work, file, company, category),
    })
  if (named === null) return pages(null)
  const { rules, close } = await loadLedgerRules(named)
  try {
    return { rules: named, ...(await pages(rules)) }
  } finally {
    await close()
  }
}

/** The events of a checked export. @throws FileFault where it was changed; NoSuchCompany */
async function* pagesFromFile(
  { input, progress, signal }: ReplayCommandContext,
  path: string,
  company: string | null,
  category: string,
): EventPages {
  const file = new HistoryFileReader(path, signal)
  const pace = openProgressMeter(file.fractionRead, progress)
  const history = readCheckedHistory(file.lines(), input.publicKey ?? null)
  let page: HistoryEvent[] = []
  let isThere = company === null
  for await (const event of history) {
    const isOf = company === null || companyOfStream(event.stream) === company
    isThere ||= isOf
    if (isOf && categoryOf(event.stream) === category) page.push(event)
    if (page.length < PAGE_EVENTS) continue
    pace.advance(null, page.length)
    yield page
    page = []
  }
  if (!isThere) throw new NoSuchCompany(`This file holds no company ${company}: name it by its id.`)
  yield page
}

/** The events where the stores are, piece by piece as they are sent. */
async function* pagesFromStores(
  { callOperation, signal }: ReplayCommandContext,
  company: string | null,
  category: string,
): EventPages {
  const { readable, writable } = new TransformStream<string, string>(
    undefined,
    undefined,
    new CountQueuingStrategy({ highWaterMark: MAX_BUFFERED_CHUNKS }),
  )
  const pieces = writable.getWriter()
  const input = company === null ? { category } : { category, company }
  const asked = callOperation("audit raw", input, (chunk) => pieces.write(chunk)).then(
    () => pieces.close(),
    (error: unknown) => pieces.abort(error),
  )
  // Where the taker has gone, the sender ends: nobody has to hear of it any more.
  asked.catch(() => undefined)
  let rest = ""
  for await (const chunk of readable) {
    signal.throwIfAborted()
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    yield lines.map((line) => JSON.parse(line) as HistoryEvent)
  }
}
