import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ACCESS_AGGREGATE } from "../../domain/access/aggregates.ts"
import { BOX_AGGREGATE, BOX_SLOTS_AGGREGATE } from "../../domain/boxes/aggregates.ts"
import {
  LEDGER_AGGREGATE,
  PRICES_STREAM,
  REFUSALS_AGGREGATE,
} from "../../domain/charging/aggregates.ts"
import { CODE_AGGREGATE } from "../../domain/code/aggregates.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import { APP_AGGREGATE, RELEASES_STREAM } from "../../domain/connection/aggregates.ts"
import type { LedgerCommand, LedgerRefusal } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { DOMAIN_RESERVATIONS_STREAM, DOMAIN_AGGREGATE } from "../../domain/domains/aggregates.ts"
import { MAIL_AGGREGATE, SUPPRESSIONS_AGGREGATE } from "../../domain/email/aggregates.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { PHONE_AGGREGATE, RECIPIENT_AGGREGATE } from "../../domain/phone/aggregates.ts"
import { LEADS_AGGREGATE } from "../../domain/leads/aggregates.ts"
import {
  PUBLISH_AGGREGATE,
  PUBLISHING_SWITCHES_STREAM,
} from "../../domain/publishing/aggregates.ts"
import { CALL_AGGREGATE, CALL_SLOTS_AGGREGATE } from "../../domain/voice/aggregates.ts"
import { RECORDINGS_AGGREGATE } from "../../domain/recordings/aggregates.ts"
import { REGISTRATION_AGGREGATE } from "../../domain/registration/aggregates.ts"
import type { RecipientCommand } from "../../domain/phone/recipient.ts"
import { boxCommand, boxSlotCommand } from "../boxes/box-commands.ts"
import { histories } from "../charging/histories.ts"
import { playHistory } from "../charging/play-history.ts"
import { propertyRuns } from "../charging/property-runs.ts"
import { realLedger } from "../charging/ledger-under-test.ts"
import { codeCommand } from "../code-checks/code-commands.ts"
import { reservationCommand } from "../domains/reservation-commands.ts"
import { domainCommand } from "../domains/domain-commands.ts"
import { mailCommand, suppressionCommand } from "../email/mail-commands.ts"
import { leadCommand } from "../leads/lead-commands.ts"
import { recipientCommand } from "../phone/recipient-commands.ts"
import { publishCommand, switchCommand } from "../publishing/publish-commands.ts"
import { callCommand, callSlotCommand } from "../voice/call-commands.ts"
import { recordingCommand } from "../recordings/recording-commands.ts"
import { registrationHistories } from "../registration/registration-commands.ts"
import { splitStamp } from "../support/decider-spec.ts"
import type { CommandHistory, StateComparison, DeciderUnderTest } from "./command-histories.ts"
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
import { STORED_CATEGORIES } from "./stored-formats.ts"

/** The histories of a category, decided by its aggregate. */
interface Case {
  readonly category: string
  readonly compared: fc.Arbitrary<StateComparison>
}

function caseOf<C, S, E extends Fact, R extends Fact>(
  rules: DeciderUnderTest<C, S, E, R> & { readonly category: string },
  all: fc.Arbitrary<CommandHistory<C>>,
): Case {
  const compared = all.map((history) => compareWithStored(rules, history))
  return { category: rules.category, compared }
}

const recipientHistories = historiesOf(
  recipientCommand.map((stamped) => splitStamp<RecipientCommand>(stamped).command),
)
const ledgerHistories = histories(80).map((history) =>
  playHistory(realLedger, history)
    .steps.filter((step) => step.does === "decide")
    .map((step) => splitStamp<LedgerCommand>(step.command)),
)

/** A ledger's state without its cached look-up, which affects no answer. */
function withoutLookUp({
  counters: { lastLookup: _last, ...counters },
  ...state
}: LedgerState): unknown {
  return { ...state, counters }
}

/** Without the ledger's checkpoint: it may reorder counter rows, which `test/charging` compares. */
const { checkpoint: _checkpoint, ...ledger } = LEDGER_AGGREGATE

/** Reservation commands in which every id is used once. */
const reservationHistories = historiesOf(reservationCommand).map((history) => {
  const used = new Set<string>()
  return history.filter(({ command: { type, domainId } }) => {
    const isNew = !used.has(domainId)
    if (type === "ReserveDomain") used.add(domainId)
    return type !== "ReserveDomain" || isNew
  })
})

const CASES: readonly Case[] = [
  caseOf({ ...ledger, comparable: withoutLookUp }, ledgerHistories),
  caseOf(REFUSALS_AGGREGATE, refusalHistories),
  caseOf(PRICES_STREAM.aggregate, priceHistories),
  caseOf(ACCESS_AGGREGATE, accessHistories),
  caseOf(APP_AGGREGATE, appHistories),
  caseOf(RELEASES_STREAM.aggregate, releaseHistories),
  caseOf(COMPANIES_STREAM.aggregate, companiesHistories),
  caseOf(PHONE_AGGREGATE, phoneHistories),
  caseOf(RECIPIENT_AGGREGATE, recipientHistories),
  caseOf(LEADS_AGGREGATE, historiesOf(leadCommand)),
  caseOf(CODE_AGGREGATE, historiesOf(codeCommand)),
  caseOf(BOX_AGGREGATE, historiesOf(boxCommand)),
  caseOf(BOX_SLOTS_AGGREGATE, historiesOf(boxSlotCommand)),
  caseOf(CALL_AGGREGATE, historiesOf(callCommand)),
  caseOf(CALL_SLOTS_AGGREGATE, historiesOf(callSlotCommand)),
  caseOf(PUBLISH_AGGREGATE, historiesOf(publishCommand)),
  caseOf(PUBLISHING_SWITCHES_STREAM.aggregate, historiesOf(switchCommand)),
  caseOf(DOMAIN_RESERVATIONS_STREAM.aggregate, reservationHistories),
  caseOf(DOMAIN_AGGREGATE, historiesOf(domainCommand)),
  caseOf(MAIL_AGGREGATE, historiesOf(mailCommand)),
  caseOf(SUPPRESSIONS_AGGREGATE, historiesOf(suppressionCommand)),
  caseOf(RECORDINGS_AGGREGATE, historiesOf(recordingCommand)),
  caseOf(REGISTRATION_AGGREGATE, registrationHistories),
]

describe("the decided state equals the state folded from stored facts, with and without checkpoints", () => {
  it.each(CASES)("in $category", ({ compared }) => {
    const runs = propertyRuns(60, 2_000)
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

  it("in every stored category", () => {
    const categories = CASES.map(({ category }) => category)
    expect(categories.toSorted()).toEqual(
      STORED_CATEGORIES.map(({ category }) => category).toSorted(),
    )
  })
})

describe("the comparison detects a decider", () => {
  const adding = { type: "AddFunds", amountMicros: 7, reference: null } as const
  const opening = { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 } as const
  const history: CommandHistory<LedgerCommand> = [opening, adding].map((one) => {
    return { command: one, stamp: { at: 1, headHash: "ab" } }
  })
  const real = LEDGER_AGGREGATE.decider
  const ledgerUnderTest: DeciderUnderTest<LedgerCommand, LedgerState, LedgerEvent, LedgerRefusal> =
    {
      ...LEDGER_AGGREGATE,
      comparable: withoutLookUp,
    }

  it.each<[string, Partial<typeof ledgerUnderTest.decider>, RegExp]>([
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
      "that changes its state while it decides",
      {
        decide: (one, state, stamp) => {
          if (one.type === "AddFunds") state.facts += 1
          return real.decide(one, state, stamp)
        },
      },
      /^the state is .*facts: 3,.*facts: 2,/,
    ],
  ])("%s", (_case, wrong, difference) => {
    expect(compareWithStored(ledgerUnderTest, history)).toEqual({ facts: 2, difference: null })
    const faulty = { ...ledgerUnderTest, decider: { ...real, ...wrong } }
    expect(compareWithStored(faulty, history).difference).toMatch(difference)
  })

  it("whose checkpoint loses the decided facts", () => {
    const checkpoint = { ...LEDGER_AGGREGATE.checkpoint, load: real.initial }
    const { difference } = compareWithStored({ ...ledgerUnderTest, checkpoint }, history)
    expect(difference).toMatch(/^the state is .*opened: true.*opened: false/)
  })
})
