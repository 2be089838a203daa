/**
 * What becomes of the words of `npm run load`. Exit codes: 0 all was right, 1 something was not, or
 * there is no server, 2 wrong usage, 130 interrupted: what came until then is shown all the same.
 */
import { randomBytes } from "node:crypto"
import { CannotWrite, openOutFile } from "../../src/frame/operator/cli/out-file.ts"
import { progressLine } from "../../src/frame/operator/cli/terminal.ts"
import { renderTable } from "../../src/frame/operator/cli/render.ts"
import type { Terminal } from "../../src/frame/operator/cli/terminal.ts"
import type { Finding } from "./afterwards.ts"
import { lookAfterwards } from "./afterwards.ts"
import { circumstances } from "../machine.ts"
import type { Figures } from "./call-for.ts"
import { callFor } from "./call-for.ts"
import { Calls } from "./calls.ts"
import type { LoadCompany } from "./ground.ts"
import { findServer, LoadFault, openLoadCompany } from "./ground.ts"
import { KINDS } from "./mix.ts"
import type { LoadOrder } from "./order.ts"
import { parseLoad } from "./order.ts"

const RIGHT = 0
const WRONG = 1
const INTERRUPTED = 130

/** Runs a load by words such as `--for 1m --mix texts=1`. Answers the exit code. */
export async function runLoad(
  words: readonly string[],
  dataDir: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const order = parseLoad(words, terminal)
  if (typeof order === "number") return order
  try {
    const isRight = await perform(order, dataDir, terminal, signal)
    if (signal.aborted) return INTERRUPTED
    return isRight ? RIGHT : WRONG
  } catch (error) {
    if (!(error instanceof LoadFault || error instanceof CannotWrite)) throw error
    terminal.err(`${error.message}\n`)
    return WRONG
  }
}

async function perform(
  order: LoadOrder,
  dataDir: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  const { json, keys, companies: count } = order
  // A file that cannot be written is told now and not after the work.
  const file = json === null ? null : await openOutFile(json)
  const progress = progressLine(terminal)
  const run = randomBytes(4).toString("hex")
  try {
    // Interrupted is the calling alone: what was called is looked at.
    const server = await findServer(dataDir, new AbortController().signal, progress.report)
    const companies: LoadCompany[] = []
    for (let own = 0; own < count && !signal.aborted; own++) {
      progress.report(`opening ${count} companies with ${keys} keys each: ${own} are open`)
      companies.push(await openLoadCompany(server, `${run} ${own}`, keys))
    }
    const calls = companies.map((company, own) => new Calls(company, `${run}-${own}`))
    const figures = await callFor({ ...order, ...server, calls, report: progress.report, signal })
    progress.report("looking at what was charged, and auditing")
    const acknowledged = new Set(calls.flatMap((ofOne) => [...ofOne.acknowledged]))
    const findings = await lookAfterwards(server, companies, acknowledged).catch(notLookedAt)
    progress.end()
    const { connections, forMs, mix } = order
    const asked = { connections, companies: count, keys, forMs, mix }
    const document = {
      ...(await circumstances()),
      asked,
      isInterrupted: signal.aborted,
      ...documentOf(figures, findings, acknowledged.size),
    }
    terminal.out(renderTable(document.kinds, terminal, "calls"))
    const told = document.findings.map((one) => ({ ...one, ok: one.ok ? "yes" : "NO" }))
    terminal.out(`\n${renderTable(told, terminal, "checks")}`)
    terminal.out(`\n${summaryOf(document)}\n`)
    await file?.write(`${JSON.stringify(document, null, 2)}\n`)
    await file?.keep()
    return document.ok
  } finally {
    progress.end()
    await file?.discard()
  }
}

/** The server went away: what was called until then is shown all the same, and is not right. */
function notLookedAt(error: unknown): readonly Finding[] {
  if (!(error instanceof LoadFault)) throw error
  return [{ name: "what was charged was looked at", ok: false, detail: error.message }]
}

interface LoadDocument {
  readonly ok: boolean
  readonly seconds: number
  readonly perSecond: number
  readonly textsAcknowledged: number
  readonly textsPerSecond: number
  readonly repeated: number
  readonly turnedAway: number
  readonly kinds: readonly Readonly<Record<string, unknown>>[]
  readonly findings: readonly Finding[]
}

function documentOf(
  { kinds, tookMs, repeated, turnedAway, wrong }: Figures,
  findings: readonly Finding[],
  texts: number,
): LoadDocument {
  const seconds = tookMs / 1_000
  const rounded = (value: number) => Number(value.toFixed(1))
  const rows = KINDS.filter((kind) => Object.keys(kinds[kind].statuses).length > 0).map((kind) => {
    const { latencies, statuses } = kinds[kind]
    const counted = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
    return {
      kind,
      answers: latencies.count,
      perSecond: rounded(latencies.count / seconds),
      p50Ms: rounded(latencies.quantile(0.5)),
      p99Ms: rounded(latencies.quantile(0.99)),
      mostMs: rounded(latencies.most),
      statuses: counted.join(", "),
    }
  })
  const faults = [...wrong].map(([what, times]) => ({
    name: what,
    ok: false,
    detail: `${times} times`,
  }))
  const checks = [...faults, ...findings]
  const answers = rows.reduce((sum, row) => sum + row.answers, 0)
  return {
    ok: checks.every(({ ok }) => ok),
    seconds: rounded(seconds),
    perSecond: rounded(answers / seconds),
    textsAcknowledged: texts,
    textsPerSecond: rounded(texts / seconds),
    repeated,
    turnedAway,
    kinds: rows,
    findings: checks.map(({ name, ok, detail }) => ({ name, ok, detail })),
  }
}

function summaryOf(document: LoadDocument): string {
  const { ok, seconds, perSecond, textsPerSecond, repeated, turnedAway } = document
  const sent = repeated === 0 ? "" : ` ${repeated} calls were sent again.`
  const limited =
    turnedAway === 0
      ? ""
      : ` ${turnedAway} calls were turned away by rate limits and are in no rate: a server that is ` +
        "started with RATE_LIMITS=off shows what it carries."
  const again = `${sent}${limited}`
  const end = ok ? "All was right." : "NOT all was right."
  return `${perSecond} answers a second for ${seconds} s, ${textsPerSecond} texts a second acknowledged.${again} ${end}`
}
