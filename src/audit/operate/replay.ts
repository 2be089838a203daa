/** `audit replay`: where the events come from, and by which rules they are decided again. */
import { companyOf, categoryOf } from "../../../domain/kernel/aggregate.ts"
import { checkedHistory } from "../check-history.ts"
import { FileLines } from "../check-file.ts"
import type { FileEvent } from "../history-file.ts"
import { loadRules } from "../other-rules.ts"
import type { Rules } from "../other-rules.ts"
import { paceTo } from "../findings.ts"
import type { Pages, Replayed } from "../replay-history.ts"
import { replayHistory } from "../replay-history.ts"
import type { z } from "zod"
import type { LocalWork } from "../../frame/operator/commands.ts"
import type { Replay } from "./history-inputs.ts"

type Work = LocalWork<z.infer<typeof Replay>>

const PAGE_EVENTS = 500
/** So many pieces may wait before the sender waits too. */
const MOST_WAITING = 8

/** A file holds nothing of the company that was named. */
class NoSuchCompany extends Error {
  override readonly name = "NoSuchCompany"
}

/** What a replay found, and the other rules that it was by. */
export interface ReplayShown extends Replayed {
  readonly rules?: string
}

/** Replays what the words name: other rules than the program's, a file, or both. */
export async function replay(work: Work): Promise<ReplayShown> {
  const { company = null, rules: named = null, file = null } = work.input
  const pages = (rules: Rules | null) =>
    replayHistory({
      rules,
      pages: (category) =>
        file === null
          ? pagesOfStores(work, company, category)
          : pagesOfFile(work, file, company, category),
    })
  if (named === null) return pages(null)
  const { rules, close } = await loadRules(named)
  try {
    return { rules: named, ...(await pages(rules)) }
  } finally {
    await close()
  }
}

/** The events of a checked export. @throws FileFault where it was changed; NoSuchCompany */
async function* pagesOfFile(
  { input, progress, signal }: Work,
  path: string,
  company: string | null,
  category: string,
): Pages {
  const file = new FileLines(path, signal)
  const pace = paceTo(file.share, progress)
  const history = checkedHistory(file.lines(), input.publicKey ?? null)
  let page: FileEvent[] = []
  let isThere = company === null
  for await (const event of history) {
    const isOf = company === null || companyOf(event.stream) === company
    isThere ||= isOf
    if (isOf && categoryOf(event.stream) === category) page.push(event)
    if (page.length < PAGE_EVENTS) continue
    pace.at(null, page.length)
    yield page
    page = []
  }
  if (!isThere) throw new NoSuchCompany(`This file holds no company ${company}: name it by its id.`)
  yield page
}

/** The events where the stores are, piece by piece as they are sent. */
async function* pagesOfStores(
  { ask, signal }: Work,
  company: string | null,
  category: string,
): Pages {
  const { readable, writable } = new TransformStream<string, string>(
    undefined,
    undefined,
    new CountQueuingStrategy({ highWaterMark: MOST_WAITING }),
  )
  const pieces = writable.getWriter()
  const input = company === null ? { category } : { category, company }
  const asked = ask("audit raw", input, (chunk) => pieces.write(chunk)).then(
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
    yield lines.map((line) => JSON.parse(line) as FileEvent)
  }
}
