import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ACCESS } from "../../domain/access/aggregates.ts"
import { BOX, SLOTS } from "../../domain/boxes/aggregates.ts"
import { LEDGER, PRICES, REFUSALS } from "../../domain/charging/aggregates.ts"
import { CODE } from "../../domain/code/aggregates.ts"
import { COMPANIES } from "../../domain/company/aggregates.ts"
import { APP, RELEASES } from "../../domain/connection/aggregates.ts"
import type { LedgerCommand, LedgerRefusal } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { CLAIMS, DOMAIN } from "../../domain/domains/aggregates.ts"
import { MAIL, SUPPRESSIONS } from "../../domain/email/aggregates.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { PHONE, RECIPIENT } from "../../domain/phone/aggregates.ts"
import { LEADS } from "../../domain/leads/aggregates.ts"
import { PUBLISH, SWITCHES } from "../../domain/publishing/aggregates.ts"
import { CALL, CALL_SLOTS } from "../../domain/voice/aggregates.ts"
import { RECORDINGS } from "../../domain/recordings/aggregates.ts"
import { REGISTRATION } from "../../domain/registration/aggregates.ts"
import type { RecipientCommand } from "../../domain/phone/recipient.ts"
import { boxCommand, slotCommand } from "../boxes/box-commands.ts"
import { histories } from "../charging/histories.ts"
import { play } from "../charging/play.ts"
import { runsOf } from "../charging/runs.ts"
import { realLedger } from "../charging/subject.ts"
import { codeCommand } from "../code-checks/code-commands.ts"
import { claimCommand } from "../domains/claim-commands.ts"
import { domainCommand } from "../domains/domain-commands.ts"
import { mailCommand, suppressionCommand } from "../email/mail-commands.ts"
import { leadCommand } from "../leads/lead-commands.ts"
import { command } from "../phone/recipient-commands.ts"
import { publishCommand, switchCommand } from "../publishing/publish-commands.ts"
import { callCommand, callSlotCommand } from "../voice/call-commands.ts"
import { recordingCommand } from "../recordings/recording-commands.ts"
import { registrationHistories } from "../registration/registration-commands.ts"
import { apart } from "../support/spec.ts"
import type { CommandHistory, Compared, Rules } from "./command-histories.ts"
import {
  accessHistories,
  appHistories,
  companiesHistories,
  historiesOf,
  priceHistories,
  refusalHistories,
  releaseHistories,
  compareWithStored,
} from "./command-histories.ts"
import { phoneHistories } from "../phone/phone-histories.ts"
import { STORED } from "./stored-formats.ts"

/** A category's histories, decided by its rules. */
interface Case {
  readonly category: string
  readonly compared: fc.Arbitrary<Compared>
}

function caseOf<C, S, E extends Fact, R extends Fact>(
  rules: Rules<C, S, E, R> & { readonly category: string },
  all: fc.Arbitrary<CommandHistory<C>>,
): Case {
  const compared = all.map((history) => compareWithStored(rules, history))
  return { category: rules.category, compared }
}

const recipientHistories = historiesOf(
  command.map((stamped) => apart<RecipientCommand>(stamped).command),
)
const ledgerHistories = histories(80).map((history) =>
  play(realLedger, history)
    .steps.filter((step) => step.does === "decide")
    .map((step) => apart<LedgerCommand>(step.command)),
)

/** A ledger remembers in place whose tallies it looked up last: that is seen in nothing it answers. */
function withoutLookUp({ tallies: { last: _last, ...tallies }, ...state }: Ledger): unknown {
  return { ...state, tallies }
}

/** The rows of its tallies may stand in another order behind a checkpoint: `test/charging` sees that they say the same. */
const { checkpoint: _checkpoint, ...ledger } = LEDGER

/** Claims as they are made: no id is given twice. */
const claimHistories = historiesOf(claimCommand).map((history) => {
  const given = new Set<string>()
  return history.filter(({ command: { type, domainId } }) => {
    const isNew = !given.has(domainId)
    if (type === "ClaimDomain") given.add(domainId)
    return type !== "ClaimDomain" || isNew
  })
})

const CASES: readonly Case[] = [
  caseOf({ ...ledger, compared: withoutLookUp }, ledgerHistories),
  caseOf(REFUSALS, refusalHistories),
  caseOf(PRICES.aggregate, priceHistories),
  caseOf(ACCESS, accessHistories),
  caseOf(APP, appHistories),
  caseOf(RELEASES.aggregate, releaseHistories),
  caseOf(COMPANIES.aggregate, companiesHistories),
  caseOf(PHONE, phoneHistories),
  caseOf(RECIPIENT, recipientHistories),
  caseOf(LEADS, historiesOf(leadCommand)),
  caseOf(CODE, historiesOf(codeCommand)),
  caseOf(BOX, historiesOf(boxCommand)),
  caseOf(SLOTS, historiesOf(slotCommand)),
  caseOf(CALL, historiesOf(callCommand)),
  caseOf(CALL_SLOTS, historiesOf(callSlotCommand)),
  caseOf(PUBLISH, historiesOf(publishCommand)),
  caseOf(SWITCHES.aggregate, historiesOf(switchCommand)),
  caseOf(CLAIMS.aggregate, claimHistories),
  caseOf(DOMAIN, historiesOf(domainCommand)),
  caseOf(MAIL, historiesOf(mailCommand)),
  caseOf(SUPPRESSIONS, historiesOf(suppressionCommand)),
  caseOf(RECORDINGS, historiesOf(recordingCommand)),
  caseOf(REGISTRATION, registrationHistories),
]

describe("the state after deciding is the state folded from what was stored, through checkpoints", () => {
  it.each(CASES)("of $category", ({ compared }) => {
    const runs = runsOf(60, 2_000)
    let recorded = 0
    fc.assert(
      fc.property(compared, ({ facts, difference }) => {
        recorded += facts
        expect(difference).toBeNull()
      }),
      runs,
    )
    expect(recorded).toBeGreaterThan(runs.numRuns)
  })

  it("of every category that is stored", () => {
    const categories = CASES.map(({ category }) => category)
    expect(categories.toSorted()).toEqual(STORED.map(({ category }) => category).toSorted())
  })
})

describe("a decider is seen to be wrong", () => {
  const adding = { type: "AddFunds", amountMicros: 7, reference: null } as const
  const opening = { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 } as const
  const history: CommandHistory<LedgerCommand> = [opening, adding].map((one) => {
    return { command: one, stamp: { at: 1, headHash: "ab" } }
  })
  const real = LEDGER.decider
  const whole: Rules<LedgerCommand, Ledger, LedgerEvent, LedgerRefusal> = {
    ...LEDGER,
    compared: withoutLookUp,
  }

  it.each<[string, Partial<typeof whole.decider>, RegExp]>([
    [
      "that copies its stamp into a fact",
      {
        decide: (one, state, stamp) => {
          const decided = real.decide(one, state, stamp)
          return isRefusal(decided) ? decided : decided.map((fact) => ({ ...fact, ...stamp }))
        },
      },
      /^LedgerOpened is .*headHash/,
    ],
    [
      "that keeps in its state what it decided",
      {
        decide: (one, state, stamp) => {
          if (one.type === "AddFunds") state.facts += 1
          return real.decide(one, state, stamp)
        },
      },
      /^the state is .*facts: 3,.*facts: 2,/,
    ],
  ])("%s", (_what, wrong, difference) => {
    expect(compareWithStored(whole, history)).toEqual({ facts: 2, difference: null })
    const faulty = { ...whole, decider: { ...real, ...wrong } }
    expect(compareWithStored(faulty, history).difference).toMatch(difference)
  })

  it("whose checkpoint forgets what was decided", () => {
    const checkpoint = { ...LEDGER.checkpoint, load: real.initial }
    const { difference } = compareWithStored({ ...whole, checkpoint }, history)
    expect(difference).toMatch(/^the state is .*opened: true.*opened: false/)
  })
})
