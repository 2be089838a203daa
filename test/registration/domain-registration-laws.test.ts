/** Laws that every history of a registration obeys, and faulty deciders that the laws catch. */
import { type Decider, type DecisionStamp, isRefusal } from "../../domain/kernel/decider.ts"
import type {
  RegistrationCommand,
  RegistrationRefused,
} from "../../domain/registration/registration-commands.ts"
import type {
  RegistrationPart,
  RegistrationEvent,
} from "../../domain/registration/registration-events.ts"
import type { RegistrationState } from "../../domain/registration/registration-state.ts"
import { registrationDecider } from "../../domain/registration/registration.ts"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { REGISTRATION_AGGREGATE } from "../../domain/registration/aggregates.ts"
import { propertyRuns } from "../charging/property-runs.ts"
import { registrationHistories } from "./registration-commands.ts"

/** The decider of registrations, or a deliberately faulty one. */
type RegistrationDecider = Decider<
  RegistrationCommand,
  RegistrationState,
  RegistrationEvent,
  RegistrationRefused
>

/** Executes the commands of a history in order, and returns their facts. */
function play(
  { initial, decide, evolve }: RegistrationDecider,
  history: readonly { readonly command: RegistrationCommand; readonly stamp: DecisionStamp }[],
): readonly RegistrationEvent[] {
  let state = initial()
  return history.flatMap(({ command, stamp }) => {
    const answer = decide(command, state, stamp)
    if (isRefusal(answer)) return []
    for (const fact of answer) state = evolve(state, fact)
    return answer
  })
}

type Submitted = Extract<RegistrationEvent, { type: "PartSubmitted" }>

/** The facts without undeliverable first live submissions, which count as if they had never been sent. */
function countedFacts(facts: readonly RegistrationEvent[]): readonly RegistrationEvent[] {
  const undeliverable = new Set(
    facts.filter((fact) => fact.type === "PartUndeliverable").map((fact) => fact.submissionId),
  )
  let isLive = false
  const dropped = new Set<string>()
  for (const fact of facts) {
    if (fact.type !== "PartSubmitted" || !fact.live || isLive) continue
    if (undeliverable.has(fact.submissionId)) dropped.add(fact.submissionId)
    else isLive = true
  }
  return facts.filter((fact) => !("submissionId" in fact) || !dropped.has(fact.submissionId))
}

/** Where a part starts again: with the first live submission, and a campaign with each new business. */
function startIndexOf(facts: readonly RegistrationEvent[], part: RegistrationPart): number {
  const live = facts.findIndex((fact) => fact.type === "PartSubmitted" && fact.live)
  if (part === "business") return Math.max(0, live)
  const restart = facts.findLastIndex((fact, at) => {
    if (fact.type !== "PartReceived" || fact.part !== "business") return false
    const sentAt = facts.findIndex(
      (one) => one.type === "PartSubmitted" && one.submissionId === fact.submissionId,
    )
    return at > live && verdictOf(facts.slice(0, sentAt), "business") !== "action_needed"
  })
  return Math.max(0, live, restart)
}

/** The last submission of a part and its outcome, derived from the facts alone. */
function lastSubmissionOf(all: readonly RegistrationEvent[], part: RegistrationPart) {
  const facts = countedFacts(all)
  const from = startIndexOf(facts, part)
  const at = facts.findLastIndex(
    (fact, i) => i >= from && fact.type === "PartSubmitted" && fact.part === part,
  )
  const sent = facts[at] as Submitted | undefined
  const later = facts.filter(
    (fact, i) => i > at && "submissionId" in fact && fact.submissionId === sent?.submissionId,
  )
  const answers = later.filter((fact) => fact.type === "PartReviewed")
  const isUndeliverable = later.some(({ type }) => type === "PartUndeliverable")
  const isReceived = later.some(({ type }) => type === "PartReceived")
  return { sent, isUndeliverable, isReceived, verdict: answers.at(-1)?.verdict ?? null }
}

const isWaiting = ({
  sent,
  isUndeliverable,
  verdict,
}: ReturnType<typeof lastSubmissionOf>): boolean =>
  sent !== undefined && !isUndeliverable && verdict === null

/** The carriers' last verdict on a part, whatever was submitted later. */
function verdictOf(all: readonly RegistrationEvent[], part: RegistrationPart): string | null {
  const facts = countedFacts(all)
  const live = facts.findIndex((fact) => fact.type === "PartSubmitted" && fact.live)
  const from = part === "business" ? Math.max(0, live) : startIndexOf(facts, part)
  const answers = facts.slice(from).filter((fact) => fact.type === "PartReviewed")
  return answers.findLast((fact) => fact.part === part)?.verdict ?? null
}

/** The brand type and rush that were paid for a part and received by the carriers. */
function paidFor(all: readonly RegistrationEvent[], part: RegistrationPart) {
  const facts = countedFacts(all)
  const received = facts
    .slice(startIndexOf(facts, part))
    .filter((fact) => fact.type === "PartReceived" && fact.part === part)
    .flatMap((fact) =>
      facts.filter((one): one is Submitted => {
        const isSent = one.type === "PartSubmitted"
        return isSent && "submissionId" in fact && one.submissionId === fact.submissionId
      }),
    )
  // Rush stays paid since the last attempt that was not a correction.
  const restart = received.findLastIndex(({ chargeId, rush }) => chargeId !== null && !rush)
  const isRushed = received.slice(Math.max(0, restart)).some(({ rush }) => rush)
  return { brandType: received.at(-1)?.brandType ?? null, isRushed }
}

/** Returns the violation, or an empty text. */
type Law = (facts: readonly RegistrationEvent[]) => string

const each =
  (check: (fact: RegistrationEvent, before: readonly RegistrationEvent[]) => string): Law =>
  (facts) =>
    facts.map((fact, i) => check(fact, facts.slice(0, i))).find((fault) => fault !== "") ?? ""

const isTest = (before: readonly RegistrationEvent[]): boolean =>
  !countedFacts(before).some((fact) => fact.type === "PartSubmitted" && fact.live)

const LAWS: Readonly<Record<string, Law>> = {
  "a waiting or approved part is not submitted": each((fact, before) => {
    if (fact.type !== "PartSubmitted") return ""
    if (fact.live && isTest(before)) return ""
    const last = lastSubmissionOf(before, fact.part)
    if (isWaiting(last)) return `${fact.submissionId} is submitted while another one waits`
    const isApproved = last.verdict === "approved" && !last.isUndeliverable
    return isApproved ? `${fact.submissionId} is submitted although the part is approved` : ""
  }),
  "a submission is sent once, and never after it was abandoned": each((fact, before) => {
    if (fact.type !== "PartSubmitted") return ""
    const isKnown = before.some(
      (one) =>
        (one.type === "PartSubmitted" || one.type === "SubmissionAbandoned") &&
        one.submissionId === fact.submissionId,
    )
    return isKnown ? `${fact.submissionId} is sent again` : ""
  }),
  "a campaign follows its approved business and its passed pages": each((fact, before) => {
    if (fact.type !== "PartSubmitted" || fact.part !== "campaign") return ""
    const business = lastSubmissionOf(before, "business")
    const isSubmitted = business.sent !== undefined && !business.isUndeliverable
    const isPending = isWaiting(business) && business.isReceived
    const isEnough = business.verdict === "approved" || (isTest(before) && !fact.live && isPending)
    if (!isSubmitted || !isEnough) return "a campaign is submitted before its business"
    const checked = before.findLast(
      (one) => one.type === "PagesChecked" || one.type === "PagesSaved",
    )
    const hasPassed = checked?.type === "PagesChecked" && checked.problems.length === 0
    return hasPassed ? "" : "a campaign is submitted whose pages did not pass"
  }),
  "a received submission is never undeliverable": each((fact, before) => {
    if (fact.type !== "PartUndeliverable") return ""
    const earlier = before.filter(
      (one) => "submissionId" in one && one.submissionId === fact.submissionId,
    )
    return earlier.some(({ type }) => type === "PartReceived" || type === "PartReviewed")
      ? `${fact.submissionId} was received`
      : ""
  }),
  "a review is of the last submission, which the carriers have, and changes the verdict": each(
    (fact, before) => {
      if (fact.type !== "PartReviewed") return ""
      const last = lastSubmissionOf(before, fact.part)
      if (last.sent?.submissionId !== fact.submissionId) return "a review of an earlier attempt"
      if (!last.isReceived) return "a review of a submission that carriers do not have"
      return last.verdict === fact.verdict ? "the same verdict again" : ""
    },
  ),
  "exactly live submissions cost a fee, except corrections that carriers requested": each(
    (fact, before) => {
      if (fact.type !== "PartSubmitted") return ""
      const isLive = fact.live || !isTest(before)
      const isFirst = fact.live && isTest(before)
      const isRequested = !isFirst && verdictOf(before, fact.part) === "action_needed"
      const paid = paidFor(before, fact.part)
      const isSame = paid.brandType === fact.brandType && (!fact.rush || paid.isRushed)
      const costs = isLive && !(isRequested && isSame)
      return (fact.chargeId !== null) === costs ? "" : `${fact.submissionId} has the wrong fee`
    },
  ),
  "attempts are counted from one, in test mode and again in live mode": each((fact, before) => {
    if (fact.type !== "PartSubmitted") return ""
    const { sent } =
      fact.live && isTest(before) ? { sent: undefined } : lastSubmissionOf(before, fact.part)
    const expected = (sent?.attempt ?? 0) + 1
    return fact.attempt === expected ? "" : `attempt ${fact.attempt} is number ${expected}`
  }),
  "test mode ends once": each((fact, before) => {
    if (fact.type !== "PartSubmitted" || isTest(before)) return ""
    return fact.live ? "" : "a test is submitted after a live submission"
  }),
  "a number is reviewed only with an approved campaign": each((fact, before) => {
    if (fact.type !== "NumberReviewed") return ""
    const { verdict, isUndeliverable } = lastSubmissionOf(before, "campaign")
    return verdict === "approved" && !isUndeliverable ? "" : `${fact.numberId} has no campaign`
  }),
}

const decidingWith = (
  change: (fact: RegistrationEvent) => readonly RegistrationEvent[],
): RegistrationDecider => ({
  ...registrationDecider,
  decide: (command, state, stamp) => {
    const answer = registrationDecider.decide(command, state, stamp)
    return isRefusal(answer) ? answer : answer.flatMap(change)
  },
})

type SubmitPart = Extract<RegistrationCommand, { type: "SubmitPart" }>

/** A decider that accepts submissions which the real one rejects with one of these codes. */
const accepting = (...codes: readonly string[]): RegistrationDecider => ({
  ...registrationDecider,
  decide: (command, state, stamp) => {
    const answer = registrationDecider.decide(command, state, stamp)
    if (!isRefusal(answer) || command.type !== "SubmitPart") return answer
    return codes.includes(answer.code) ? [submittedFact(command, state, stamp.at)] : answer
  },
})

const submittedFact = (
  command: SubmitPart,
  state: ReturnType<RegistrationDecider["initial"]>,
  at: number,
): RegistrationEvent => {
  const { part, submissionId, brandType, rush, chargeId, keyId, personId } = command
  const live = command.live || !state.testMode
  const attempt = state.parts[part].attempt + 1
  return {
    type: "PartSubmitted",
    at,
    part,
    submissionId,
    attempt,
    live,
    brandType,
    rush,
    chargeId,
    keyId,
    personId,
  }
}

/** A decider that never rejects a type of command. */
const alwaysAccepting = (
  type: RegistrationCommand["type"],
  make: typeof factsOf,
): RegistrationDecider => ({
  ...registrationDecider,
  decide: (command, state, stamp) =>
    command.type === type
      ? make(command, stamp.at)
      : registrationDecider.decide(command, state, stamp),
})

function factsOf(command: RegistrationCommand, at: number): readonly RegistrationEvent[] {
  switch (command.type) {
    case "MarkPartUndeliverable": {
      const { submissionId, cause, reasons } = command
      return [{ type: "PartUndeliverable", at, part: "business", submissionId, cause, reasons }]
    }
    case "ReviewPart": {
      const { submissionId, verdict, reasons } = command
      return [{ type: "PartReviewed", at, part: "business", submissionId, verdict, reasons }]
    }
    case "ReviewNumber": {
      const { numberId, verdict, reasons } = command
      return [{ type: "NumberReviewed", at, numberId, verdict, reasons }]
    }
    default:
      return []
  }
}

/** Faulty deciders, each with the law that it breaks. */
const FAULTS: readonly {
  readonly fault: string
  readonly breaks: string
  readonly decider: RegistrationDecider
}[] = [
  {
    fault: "submits a waiting part again",
    breaks: "a waiting or approved part is not submitted",
    decider: accepting("waiting"),
  },
  {
    fault: "submits an approved part again",
    breaks: "a waiting or approved part is not submitted",
    decider: accepting("approved"),
  },
  {
    fault: "sends an abandoned submission",
    breaks: "a submission is sent once, and never after it was abandoned",
    decider: accepting("abandoned"),
  },
  {
    fault: "submits a campaign before its business",
    breaks: "a campaign follows its approved business and its passed pages",
    decider: accepting("missing"),
  },
  {
    fault: "submits a campaign whose pages did not pass",
    breaks: "a campaign follows its approved business and its passed pages",
    decider: accepting("missing"),
  },
  {
    fault: "marks a received submission as undeliverable",
    breaks: "a received submission is never undeliverable",
    decider: alwaysAccepting("MarkPartUndeliverable", factsOf),
  },
  {
    fault: "accepts a review of an earlier attempt",
    breaks: "a review is of the last submission, which the carriers have, and changes the verdict",
    decider: alwaysAccepting("ReviewPart", factsOf),
  },
  {
    fault: "accepts a wrong fee",
    breaks: "exactly live submissions cost a fee, except corrections that carriers requested",
    decider: accepting("fee"),
  },
  {
    fault: "counts attempts from two",
    breaks: "attempts are counted from one, in test mode and again in live mode",
    decider: decidingWith((fact) => [
      fact.type === "PartSubmitted" ? { ...fact, attempt: fact.attempt + 1 } : fact,
    ]),
  },
  {
    fault: "records live submissions as tests",
    breaks: "test mode ends once",
    decider: {
      ...registrationDecider,
      decide: (command, state, stamp) => {
        const answer = registrationDecider.decide(command, state, stamp)
        if (isRefusal(answer) || state.testMode) return answer
        return answer.map((fact) =>
          fact.type === "PartSubmitted" ? { ...fact, live: false } : fact,
        )
      },
    },
  },
  {
    fault: "reviews a number without a campaign",
    breaks: "a number is reviewed only with an approved campaign",
    decider: alwaysAccepting("ReviewNumber", factsOf),
  },
]

describe("the checkpoint of a registration", () => {
  it("loads the state that its facts lead to", () => {
    const { decider, codec, checkpoint } = REGISTRATION_AGGREGATE
    fc.assert(
      fc.property(registrationHistories, (history) => {
        let state = decider.initial()
        for (const fact of play(registrationDecider, history)) {
          const stored = codec.decode(fact.type, codec.version(fact.type), codec.encode(fact))
          state = decider.evolve(state, stored)
        }
        const saved = JSON.parse(JSON.stringify(checkpoint.save(state)))
        expect(checkpoint.load(saved)).toEqual(state)
      }),
      propertyRuns(100),
    )
  })
})

describe("in every history", () => {
  it.each(Object.entries(LAWS))("%s", (_name, law) => {
    fc.assert(
      fc.property(registrationHistories, (history) => {
        expect(law(play(registrationDecider, history))).toBe("")
      }),
      propertyRuns(300, 3_000),
    )
  })
})

describe("the law catches a decider that", () => {
  // A fixed seed, because random histories would sometimes miss faults that few of them show.
  const SEED = 20_261_128
  it.each(FAULTS)("$fault", ({ breaks, decider }) => {
    const law = LAWS[breaks]
    if (law === undefined) throw new Error(`there is no law ${breaks}`)
    const found = fc.check(
      fc.property(registrationHistories, (history) => law(play(decider, history)) === ""),
      { seed: SEED, numRuns: 20_000 },
    )
    expect(found.failed).toBe(true)
  })
})
