/**
 * Runs `audit replay` in this process: on the server's events or a file, with the program's rules
 * or others.
 */
import { companyOfStream, categoryOf } from "../../../domain/kernel/aggregate.ts"
import { readCheckedHistory } from "../check-history.ts"
import { HistoryFileReader } from "../check-file.ts"
import type { HistoryEvent } from "../history-file.ts"
import { loadLedgerRules } from "../alternative-rules.ts"
import type { LedgerRules } from "../alternative-rules.ts"
import { openProgressMeter } from "../findings.ts"
import type { HistoryPages, ReplayResult } from "../replay-history.ts"
import { replayHistory } from "../replay-history.ts"
import type { z } from "zod"
import type { LocalCommandContext } from "../../frame/operator/commands.ts"
import type { ReplayInput } from "./history-inputs.ts"

type ReplayCommandContext = LocalCommandContext<z.infer<typeof ReplayInput>>

const PAGE_EVENTS = 500
/** How many chunks may be buffered before the sender waits. */
const MAX_BUFFERED_CHUNKS = 8

/** The file has no events of the named company. */
class NoSuchCompany extends Error {
  override readonly name = "NoSuchCompany"
}

/** The result of a replay, and the other rules if there were any. */
export interface ReplayOutput extends ReplayResult {
  readonly rules?: string
}

/** Replays a file, or the server's events, with the program's rules or others. */
export async function runLocalReplay(context: ReplayCommandContext): Promise<ReplayOutput> {
  const { company = null, rules: named = null, file = null } = context.input
  const pages = (rules: LedgerRules | null) =>
    replayHistory({
      rules,
      pages: (category) =>
        file === null
          ? pagesFromStores(context, company, category)
          : pagesFromFile(context, file, company, category),
    })
  if (named === null) return pages(null)
  const { rules, close } = await loadLedgerRules(named)
  try {
    return { rules: named, ...(await pages(rules)) }
  } finally {
    await close()
  }
}

/**
 * Reads the events of a checked export.
 *
 * @throws FileFault if the file was changed; NoSuchCompany
 */
async function* pagesFromFile(
  { input, progress, signal }: ReplayCommandContext,
  path: string,
  company: string | null,
  category: string,
): HistoryPages {
  const file = new HistoryFileReader(path, signal)
  const meter = openProgressMeter(file.fractionRead, progress)
  const history = readCheckedHistory(file.lines(), input.publicKey ?? null)
  let page: HistoryEvent[] = []
  let isFound = company === null
  for await (const event of history) {
    const isOf = company === null || companyOfStream(event.stream) === company
    isFound ||= isOf
    if (isOf && categoryOf(event.stream) === category) page.push(event)
    if (page.length < PAGE_EVENTS) continue
    meter.advance(null, page.length)
    yield page
    page = []
  }
  if (!isFound)
    throw new NoSuchCompany(`This file has no events of company ${company}. Pass the company's id.`)
  yield page
}

/** Reads the events from the server's stores, as chunks arrive. */
async function* pagesFromStores(
  { callOperation, signal }: ReplayCommandContext,
  company: string | null,
  category: string,
): HistoryPages {
  const { readable, writable } = new TransformStream<string, string>(
    undefined,
    undefined,
    new CountQueuingStrategy({ highWaterMark: MAX_BUFFERED_CHUNKS }),
  )
  const chunks = writable.getWriter()
  const input = company === null ? { category } : { category, company }
  const sent = callOperation("audit raw", input, (chunk) => chunks.write(chunk)).then(
    () => chunks.close(),
    (error: unknown) => chunks.abort(error),
  )
  // When the reader stops early, the sender fails; that error has no receiver.
  sent.catch(() => undefined)
  let rest = ""
  for await (const chunk of readable) {
    signal.throwIfAborted()
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    yield lines.map((line) => JSON.parse(line) as HistoryEvent)
  }
}
