import fc from "fast-check"
import { expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { LedgerReplay } from "../../src/audit/decisions.ts"
import { histories } from "../charging/histories.ts"
import { hashAfter, play } from "../charging/play.ts"
import { runsOf } from "../charging/runs.ts"
import { factsOf, realLedger } from "../charging/subject.ts"
import type { History } from "../charging/turns.ts"

const saved = (state: ReturnType<typeof ledger.initial>) =>
  JSON.stringify(ledgerCheckpoint.save(state))

/** The facts of each append of a history, in order. */
function appendsOf(history: History): readonly (readonly LedgerEvent[])[] {
  return play(realLedger, history)
    .steps.map((step) => (step.does === "decide" ? factsOf(step.answer) : []))
    .filter((facts) => facts.length > 0)
}

/** A company in which nothing happens for two months: their closings are the last facts of an append. */
const IDLE: History = {
  from: Date.parse("2026-03-15T00:00:00Z"),
  unitMicros: 1,
  turns: [
    {
      wait: { ms: 0 },
      on: 0,
      intentions: [{ do: "open", prepaidOnly: false, creditMicros: 0 }],
    },
    {
      wait: { ms: 60 * 86_400_000 },
      on: 0,
      intentions: [{ do: "close month" }],
    },
    {
      wait: { until: "month", off: 0 },
      on: 0,
      intentions: [{ do: "correct", by: 1 }],
    },
  ],
}

/** The state that an audit compares with a checkpoint of each revision. */
function auditedStates(appends: readonly (readonly LedgerEvent[])[]): ReadonlyMap<number, string> {
  const states = new Map<number, string>()
  const replay: LedgerReplay = new LedgerReplay({
    differs: (difference) => expect.fail(JSON.stringify(difference)),
    folded: (revision) => states.set(revision, saved(replay.state)),
  })
  let revision = 0
  for (const [command, facts] of appends.entries()) {
    for (const fact of facts) {
      const { headHash: previousHash = "0".repeat(64) } = hashAfter(revision)
      replay.take(fact, { revision, command: `${command}`, previousHash, text: null })
      revision += 1
    }
  }
  replay.end()
  return states
}

it("an audit compares the checkpoint after every append with all its facts folded", () => {
  const property = fc.property(histories(60), (history) => {
    const appends = appendsOf(history)
    const audited = auditedStates(appends)
    let state = ledger.initial()
    let revision = -1
    for (const facts of appends) {
      for (const fact of facts) state = ledger.evolve(state, fact)
      revision += facts.length
      expect(audited.get(revision)).toBe(saved(state))
    }
  })
  fc.assert(property, { ...runsOf(60, 2_000), examples: [[IDLE]] })
  expect(appendsOf(IDLE).map((facts) => facts.map(({ type }) => type))).toEqual([
    ["LedgerOpened"],
    ["MonthClosed", "MonthClosed"],
    ["MonthClosed", "FundsCorrected"],
  ])
})
