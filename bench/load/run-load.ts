/**
 * Runs `npm run load`. Exit codes: 0 all checks held, 1 a check failed or there is no server, 2 wrong usage, 130
 * interrupted; the figures until then are shown in any case.
 */
import { randomBytes } from "node:crypto"
import { CannotWrite, openOutFile } from "../../src/frame/operator/cli/out-file.ts"
import { openProgressLine } from "../../src/frame/operator/cli/terminal.ts"
import { renderTable } from "../../src/frame/operator/cli/render.ts"
import type { Terminal } from "../../src/frame/operator/cli/terminal.ts"
import type { LoadCheck } from "./check-load.ts"
import { checkLoad } from "./check-load.ts"
import { readRunEnvironment } from "../run-environment.ts"
import type { LoadFigures } from "./generate-load.ts"
import { generateLoad } from "./generate-load.ts"
import { CallGenerator } from "./call-generator.ts"
import type { LoadCompany } from "./load-server.ts"
import { findLoadServer, LoadError, openLoadCompany } from "./load-server.ts"
import { CALL_KINDS } from "./call-mix.ts"
import type { LoadArguments } from "./load-arguments.ts"
import { parseLoadArguments } from "./load-arguments.ts"

const EXIT_PASSED = 0
const EXIT_FAILED = 1
const EXIT_INTERRUPTED = 130

/** Runs a load with arguments such as `--for 1m --mix texts=1`. Returns the exit code. */
export async function runLoad(
  words: readonly string[],
  dataDir: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const order = parseLoadArguments(words, terminal)
  if (typeof order === "number") return order
  try {
    const isRight = await perform(order, dataDir, terminal, signal)
    if (signal.aborted) return EXIT_INTERRUPTED
    return isRight ? EXIT_PASSED : EXIT_FAILED
  } catch (error) {
    if (!(error instanceof LoadError || error instanceof CannotWrite)) throw error
    terminal.err(`${error.message}\n`)
    return EXIT_FAILED
  }
}

async function perform(
  order: LoadArguments,
  dataDir: string,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean> {
  const { json, keys, companies: count } = order
  // A file that cannot be written is reported before the load, not after it.
  const file = json === null ? null : await openOutFile(json)
  const progress = openProgressLine(terminal)
  const run = randomBytes(4).toString("hex")
  try {
    // An interruption ends only the calls: the check still runs.
    const server = await findLoadServer(dataDir, new AbortController().signal, progress.report)
    const companies: LoadCompany[] = []
    for (let own = 0; own < count && !signal.aborted; own++) {
      progress.report(`opening ${count} companies with ${keys} keys each: ${own} are open`)
      companies.push(await openLoadCompany(server, `${run} ${own}`, keys))
    }
    const calls = companies.map((company, own) => new CallGenerator(company, `${run}-${own}`))
    const figures = await generateLoad({
      ...order,
      ...server,
      calls,
      report: progress.report,
      signal,
    })
    progress.report("looking at what was charged, and auditing")
    const acknowledged = new Set(calls.flatMap((ofOne) => [...ofOne.acknowledged]))
    const findings = await checkLoad(server, companies, acknowledged).catch(uncheckedFindings)
    progress.clear()
    const { connections, forMs, mix } = order
    const asked = { connections, companies: count, keys, forMs, mix }
    const document = {
      ...(await readRunEnvironment()),
      asked,
      isInterrupted: signal.aborted,
      ...documentOf(figures, findings, acknowledged.size),
    }
    terminal.out(renderTable(document.kinds, terminal, "calls"))
    const rows = document.findings.map((one) => ({ ...one, ok: one.ok ? "yes" : "NO" }))
    terminal.out(`\n${renderTable(rows, terminal, "checks")}`)
    terminal.out(`\n${summaryOf(document)}\n`)
    await file?.write(`${JSON.stringify(document, null, 2)}\n`)
    await file?.commit()
    return document.ok
  } finally {
    progress.clear()
    await file?.discard()
  }
}

/** The findings if the server is gone: the figures are shown but cannot be checked. */
function uncheckedFindings(error: unknown): readonly LoadCheck[] {
  if (!(error instanceof LoadError)) throw error
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
  readonly findings: readonly LoadCheck[]
}

function documentOf(
  { kinds, tookMs, repeated, turnedAway, wrong }: LoadFigures,
  findings: readonly LoadCheck[],
  texts: number,
): LoadDocument {
  const seconds = tookMs / 1_000
  const rounded = (value: number) => Number(value.toFixed(1))
  const rows = CALL_KINDS.filter((kind) => Object.keys(kinds[kind].statuses).length > 0).map(
    (kind) => {
      const { latencies, statuses } = kinds[kind]
      const counted = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
      return {
        kind,
        answers: latencies.count,
        perSecond: rounded(latencies.count / seconds),
        p50Ms: rounded(latencies.quantile(0.5)),
        p99Ms: rounded(latencies.quantile(0.99)),
        mostMs: rounded(latencies.max),
        statuses: counted.join(", "),
      }
    },
  )
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
