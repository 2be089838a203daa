import fc from "fast-check"
import { expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { LedgerReplay } from "../../src/audit/ledger-replay.ts"
import { histories } from "../charging/histories.ts"
import { headHashAfter, playHistory } from "../charging/play-history.ts"
import { propertyRuns } from "../charging/property-runs.ts"
import { acceptedFacts, realLedger } from "../charging/ledger-under-test.ts"
import type { LedgerHistory } from "../charging/history.ts"

const saved = (state: ReturnType<typeof ledgerDecider.initial>) =>
  JSON.stringify(ledgerCheckpoint.save(state))

/** The facts of each append of a history, in order. */
function appendsOf(history: LedgerHistory): readonly (readonly LedgerEvent[])[] {
  return playHistory(realLedger, history)
    .steps.map((step) => (step.does === "decide" ? acceptedFacts(step.answer) : []))
    .filter((facts) => facts.length > 0)
}

/** A company that is idle for two months: an append ends with the facts that close them. */
const IDLE: LedgerHistory = {
  from: Date.parse("2026-03-15T00:00:00Z"),
  unitMicros: 1,
  turns: [
    {
      delay: { ms: 0 },
      process: 0,
      intentions: [{ do: "open", prepaidOnly: false, creditMicros: 0 }],
    },
    {
      delay: { ms: 60 * 86_400_000 },
      process: 0,
      intentions: [{ do: "close month" }],
    },
    {
      delay: { until: "month", off: 0 },
      process: 0,
      intentions: [{ do: "correct", by: 1 }],
    },
  ],
}

/** The state that an audit compares with a checkpoint of each revision. */
function auditedStates(appends: readonly (readonly LedgerEvent[])[]): ReadonlyMap<number, string> {
  const states = new Map<number, string>()
  const replay: LedgerReplay = new LedgerReplay({
    onDifference: (difference) => expect.fail(JSON.stringify(difference)),
    onFolded: (revision) => states.set(revision, saved(replay.state)),
  })
  let revision = 0
  for (const [command, facts] of appends.entries()) {
    for (const fact of facts) {
      const { headHash: previousHash = "0".repeat(64) } = headHashAfter(revision)
      replay.apply(fact, { revision, command: `${command}`, previousHash, text: null })
      revision += 1
    }
  }
  replay.finish()
  return states
}

it("an audit folds all facts of an append before it compares the checkpoint", () => {
  const property = fc.property(histories(60), (history) => {
    const appends = appendsOf(history)
    const audited = auditedStates(appends)
    let state = ledgerDecider.initial()
    let revision = -1
    for (const facts of appends) {
      for (const fact of facts) state = ledgerDecider.evolve(state, fact)
      revision += facts.length
      expect(audited.get(revision)).toBe(saved(state))
    }
  })
  fc.assert(property, { ...propertyRuns(60, 2_000), examples: [[IDLE]] })
  expect(appendsOf(IDLE).map((facts) => facts.map(({ type }) => type))).toEqual([
    ["LedgerOpened"],
    ["MonthClosed", "MonthClosed"],
    ["MonthClosed", "FundsCorrected"],
  ])
})
