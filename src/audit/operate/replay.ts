/** `audit replay`: where the events come from, and by which rules they are decided again. */
import { companyOf, categoryOf } from "../../../domain/kernel/streams.ts"
import { checkedHistory } from "../check-history.ts"
import { FileLines } from "../file-lines.ts"
import type { FileEvent } from "../history-file.ts"
import { loadRules } from "../other-rules.ts"
import type { Rules } from "../other-rules.ts"
import { paceTo } from "../pace.ts"
import type { Pages } from "../replay-history.ts"
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

/** Replays what the words name. Answers what `replayHistory` found. */
export async function replay(work: Work): Promise<unknown> {
  const { input, ask } = work
  const { company = null, rules: named = null, file = null } = input
  if (named === null && file === null) {
    // By the rules of the program it is done where the events are.
    return ask("audit replay", company === null ? {} : { company }, async () => undefined)
  }
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
  const pieces = new Pieces()
  const input = company === null ? { category } : { category, company }
  const asked = ask("audit raw", input, (chunk) => pieces.put(chunk)).then(
    () => pieces.end(null),
    (error: unknown) => pieces.end(error),
  )
  try {
    for (;;) {
      signal.throwIfAborted()
      const chunk = await pieces.take()
      if (chunk === null) break
      yield chunk
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as FileEvent)
    }
  } finally {
    // Whoever still sends need not wait for anybody.
    pieces.abandon()
    await asked
  }
}

/** Pieces on their way from a sender to a taker who may be slower. */
class Pieces {
  readonly #waiting: string[] = []
  #isAbandoned = false
  #ended: { readonly error: unknown } | null = null
  #moved = Promise.withResolvers<void>()

  async put(chunk: string): Promise<void> {
    this.#waiting.push(chunk)
    this.#move()
    while (this.#waiting.length > MOST_WAITING && !this.#isAbandoned) await this.#moved.promise
  }

  /** The next piece; null at the end. @throws what the sender ended with */
  async take(): Promise<string | null> {
    while (this.#waiting.length === 0 && this.#ended === null) await this.#moved.promise
    const chunk = this.#waiting.shift()
    this.#move()
    if (chunk !== undefined) return chunk
    const error = this.#ended?.error ?? null
    if (error !== null) throw error as Error
    return null
  }

  end(error: unknown): void {
    this.#ended = { error }
    this.#move()
  }

  abandon(): void {
    this.#isAbandoned = true
    this.#move()
  }

  #move(): void {
    this.#moved.resolve()
    this.#moved = Promise.withResolvers<void>()
  }
}
