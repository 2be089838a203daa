/** What holds of every history of a registration, and the rules that are wrong on purpose, each seen to fail. */
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

/** The rules, or such as are wrong on purpose. */
type Rules = Decider<RegistrationCommand, RegistrationState, RegistrationEvent, RegistrationRefused>

/** Decides commands one after the other; the facts in their order. */
function play(
  { initial, decide, evolve }: Rules,
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

/** Without what nobody got of the first business that was meant: it is as if it had not been. */
function counted(facts: readonly RegistrationEvent[]): readonly RegistrationEvent[] {
  const unreached = new Set(
    facts.filter((fact) => fact.type === "PartUndeliverable").map((fact) => fact.submissionId),
  )
  let isMeant = false
  const dropped = new Set<string>()
  for (const fact of facts) {
    if (fact.type !== "PartSubmitted" || !fact.live || isMeant) continue
    if (unreached.has(fact.submissionId)) dropped.add(fact.submissionId)
    else isMeant = true
  }
  return facts.filter((fact) => !("submissionId" in fact) || !dropped.has(fact.submissionId))
}

/** Where a part begins anew: with what is meant, and a campaign with each new business of the carriers. */
function beginsAt(facts: readonly RegistrationEvent[], part: RegistrationPart): number {
  const live = facts.findIndex((fact) => fact.type === "PartSubmitted" && fact.live)
  if (part === "business") return Math.max(0, live)
  const anew = facts.findLastIndex((fact, at) => {
    if (fact.type !== "PartReceived" || fact.part !== "business") return false
    const sentAt = facts.findIndex(
      (one) => one.type === "PartSubmitted" && one.submissionId === fact.submissionId,
    )
    return at > live && standsAt(facts.slice(0, sentAt), "business") !== "action_needed"
  })
  return Math.max(0, live, anew)
}

/** How a part stands by the facts alone: what was sent last, and what came of it. */
function lastOf(all: readonly RegistrationEvent[], part: RegistrationPart) {
  const facts = counted(all)
  const from = beginsAt(facts, part)
  const at = facts.findLastIndex(
    (fact, i) => i >= from && fact.type === "PartSubmitted" && fact.part === part,
  )
  const sent = facts[at] as Submitted | undefined
  const behind = facts.filter(
    (fact, i) => i > at && "submissionId" in fact && fact.submissionId === sent?.submissionId,
  )
  const answers = behind.filter((fact) => fact.type === "PartReviewed")
  const isUnreached = behind.some(({ type }) => type === "PartUndeliverable")
  const isReached = behind.some(({ type }) => type === "PartReceived")
  return { sent, isUnreached, isReached, verdict: answers.at(-1)?.verdict ?? null }
}

const isWaiting = ({ sent, isUnreached, verdict }: ReturnType<typeof lastOf>): boolean =>
  sent !== undefined && !isUnreached && verdict === null

/** What carriers said of a part last, whatever was sent since that nobody took. */
function standsAt(all: readonly RegistrationEvent[], part: RegistrationPart): string | null {
  const facts = counted(all)
  const live = facts.findIndex((fact) => fact.type === "PartSubmitted" && fact.live)
  const from = part === "business" ? Math.max(0, live) : beginsAt(facts, part)
  const answers = facts.slice(from).filter((fact) => fact.type === "PartReviewed")
  return answers.findLast((fact) => fact.part === part)?.verdict ?? null
}

/** What carriers had of a part last. */
function paidFor(all: readonly RegistrationEvent[], part: RegistrationPart) {
  const facts = counted(all)
  const reached = facts
    .slice(beginsAt(facts, part))
    .filter((fact) => fact.type === "PartReceived" && fact.part === part)
    .flatMap((fact) =>
      facts.filter((one): one is Submitted => {
        const isSent = one.type === "PartSubmitted"
        return isSent && "submissionId" in fact && one.submissionId === fact.submissionId
      }),
    )
  // Rush is paid from the last attempt on that was no correction.
  const anew = reached.findLastIndex(({ chargeId, rush }) => chargeId !== null && !rush)
  const isRushed = reached.slice(Math.max(0, anew)).some(({ rush }) => rush)
  return { brandType: reached.at(-1)?.brandType ?? null, isRushed }
}

/** Says what is wrong; empty where nothing is. */
type Law = (facts: readonly RegistrationEvent[]) => string

const each =
  (check: (fact: RegistrationEvent, before: readonly RegistrationEvent[]) => string): Law =>
  (facts) =>
    facts.map((fact, i) => check(fact, facts.slice(0, i))).find((fault) => fault !== "") ?? ""

const isTest = (before: readonly RegistrationEvent[]): boolean =>
  !counted(before).some((fact) => fact.type === "PartSubmitted" && fact.live)

/** The laws, by their names. */
const LAWS: Readonly<Record<string, Law>> = {
  "nothing is sent while it waits, or is approved": each((fact, before) => {
    if (fact.type !== "PartSubmitted") return ""
    if (fact.live && isTest(before)) return ""
    const last = lastOf(before, fact.part)
    if (isWaiting(last)) return `${fact.submissionId} is sent while another one waits`
    const isApproved = last.verdict === "approved" && !last.isUnreached
    return isApproved ? `${fact.submissionId} is sent though it is approved` : ""
  }),
  "a submission is sent once, and never once it was abandoned": each((fact, before) => {
    if (fact.type !== "PartSubmitted") return ""
    const isKnown = before.some(
      (one) =>
        (one.type === "PartSubmitted" || one.type === "SubmissionAbandoned") &&
        one.submissionId === fact.submissionId,
    )
    return isKnown ? `${fact.submissionId} is sent again` : ""
  }),
  "no part passes its former": each((fact, before) => {
    if (fact.type !== "PartSubmitted" || fact.part !== "campaign") return ""
    const business = lastOf(before, "business")
    const isThere = business.sent !== undefined && !business.isUnreached
    const isTaken = isWaiting(business) && business.isReached
    const isEnough = business.verdict === "approved" || (isTest(before) && !fact.live && isTaken)
    if (!isThere || !isEnough) return "a campaign is sent before its business"
    const checked = before.findLast(
      (one) => one.type === "PagesChecked" || one.type === "PagesSaved",
    )
    const hasPassed = checked?.type === "PagesChecked" && checked.problems.length === 0
    return hasPassed ? "" : "a campaign is sent whose pages did not pass"
  }),
  "nobody hears that nothing was got of what was": each((fact, before) => {
    if (fact.type !== "PartUndeliverable") return ""
    const of = before.filter(
      (one) => "submissionId" in one && one.submissionId === fact.submissionId,
    )
    return of.some(({ type }) => type === "PartReceived" || type === "PartReviewed")
      ? `${fact.submissionId} was got`
      : ""
  }),
  "an answer is to what carriers have of what was sent last, and says something new": each(
    (fact, before) => {
      if (fact.type !== "PartReviewed") return ""
      const last = lastOf(before, fact.part)
      if (last.sent?.submissionId !== fact.submissionId) return "an answer to a former attempt"
      if (!last.isReached) return "an answer to what carriers do not have"
      return last.verdict === fact.verdict ? "the same answer again" : ""
    },
  ),
  "what is meant costs its fee, but for what carriers asked for; nothing else does": each(
    (fact, before) => {
      if (fact.type !== "PartSubmitted") return ""
      const isMeant = fact.live || !isTest(before)
      const isFirst = fact.live && isTest(before)
      const asks = !isFirst && standsAt(before, fact.part) === "action_needed"
      const paid = paidFor(before, fact.part)
      const isSame = paid.brandType === fact.brandType && (!fact.rush || paid.isRushed)
      const costs = isMeant && !(asks && isSame)
      return (fact.chargeId !== null) === costs ? "" : `${fact.submissionId} is free, or is not`
    },
  ),
  "attempts are counted, from one in test mode and from one when it is meant": each(
    (fact, before) => {
      if (fact.type !== "PartSubmitted") return ""
      const { sent } = fact.live && isTest(before) ? { sent: undefined } : lastOf(before, fact.part)
      const right = (sent?.attempt ?? 0) + 1
      return fact.attempt === right ? "" : `attempt ${fact.attempt} is number ${right}`
    },
  ),
  "test mode ends once, for ever": each((fact, before) => {
    if (fact.type !== "PartSubmitted" || isTest(before)) return ""
    return fact.live ? "" : "a test is sent behind what was meant"
  }),
  "a number is approved in an approved campaign alone": each((fact, before) => {
    if (fact.type !== "NumberReviewed") return ""
    const { verdict, isUnreached } = lastOf(before, "campaign")
    return verdict === "approved" && !isUnreached ? "" : `${fact.numberId} has no campaign`
  }),
}

/** Decides as is right but for what it changes of the facts, or of the command. */
const recording = (change: (fact: RegistrationEvent) => readonly RegistrationEvent[]): Rules => ({
  ...registrationDecider,
  decide: (command, state, stamp) => {
    const answer = registrationDecider.decide(command, state, stamp)
    return isRefusal(answer) ? answer : answer.flatMap(change)
  },
})

type Sent = Extract<RegistrationCommand, { type: "SubmitPart" }>

/** Sends what is refused with one of these codes. */
const accepting = (...codes: readonly string[]): Rules => ({
  ...registrationDecider,
  decide: (command, state, stamp) => {
    const answer = registrationDecider.decide(command, state, stamp)
    if (!isRefusal(answer) || command.type !== "SubmitPart") return answer
    return codes.includes(answer.code) ? [sent(command, state, stamp.at)] : answer
  },
})

const sent = (
  command: Sent,
  state: ReturnType<Rules["initial"]>,
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

/** What happens always, whatever stands against it. */
const always = (type: RegistrationCommand["type"], make: typeof madeOf): Rules => ({
  ...registrationDecider,
  decide: (command, state, stamp) =>
    command.type === type
      ? make(command, stamp.at)
      : registrationDecider.decide(command, state, stamp),
})

function madeOf(command: RegistrationCommand, at: number): readonly RegistrationEvent[] {
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

/** Each with the law that it breaks. */
const FAULTS: readonly {
  readonly fault: string
  readonly breaks: string
  readonly rules: Rules
}[] = [
  {
    fault: "what waits is sent once more",
    breaks: "nothing is sent while it waits, or is approved",
    rules: accepting("waiting"),
  },
  {
    fault: "what is approved is sent once more",
    breaks: "nothing is sent while it waits, or is approved",
    rules: accepting("approved"),
  },
  {
    fault: "what was abandoned is sent",
    breaks: "a submission is sent once, and never once it was abandoned",
    rules: accepting("abandoned"),
  },
  {
    fault: "a campaign is sent before its business",
    breaks: "no part passes its former",
    rules: accepting("missing"),
  },
  {
    fault: "a campaign is sent whose pages did not pass",
    breaks: "no part passes its former",
    rules: accepting("missing"),
  },
  {
    fault: "what was got is said not to be",
    breaks: "nobody hears that nothing was got of what was",
    rules: always("MarkPartUndeliverable", madeOf),
  },
  {
    fault: "an answer to a former attempt counts",
    breaks: "an answer is to what carriers have of what was sent last, and says something new",
    rules: always("ReviewPart", madeOf),
  },
  {
    fault: "a fee is charged that was not paid, or paid that is not charged",
    breaks: "what is meant costs its fee, but for what carriers asked for; nothing else does",
    rules: accepting("fee"),
  },
  {
    fault: "attempts are counted from the first test on",
    breaks: "attempts are counted, from one in test mode and from one when it is meant",
    rules: recording((fact) => [
      fact.type === "PartSubmitted" ? { ...fact, attempt: fact.attempt + 1 } : fact,
    ]),
  },
  {
    fault: "what is meant is sent as a test",
    breaks: "test mode ends once, for ever",
    rules: {
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
    fault: "a number is approved without a campaign",
    breaks: "a number is approved in an approved campaign alone",
    rules: always("ReviewNumber", madeOf),
  },
]

describe("a registration that is kept beside its stream", () => {
  it("is the one that its facts come to, whatever they are", () => {
    const { decider, codec, checkpoint } = REGISTRATION_AGGREGATE
    fc.assert(
      fc.property(registrationHistories, (history) => {
        let state = decider.initial()
        for (const fact of play(registrationDecider, history)) {
          const stored = codec.decode(fact.type, codec.version(fact.type), codec.encode(fact))
          state = decider.evolve(state, stored)
        }
        const kept = JSON.parse(JSON.stringify(checkpoint.save(state)))
        expect(checkpoint.load(kept)).toEqual(state)
      }),
      propertyRuns(100),
    )
  })
})

describe("every history", () => {
  it.each(Object.entries(LAWS))("%s", (_name, law) => {
    fc.assert(
      fc.property(registrationHistories, (history) => {
        expect(law(play(registrationDecider, history))).toBe("")
      }),
      propertyRuns(300, 3_000),
    )
  })

  // Drawn anew each time, what only few histories show would be missed now and then.
  const SEED = 20_261_128
  it.each(FAULTS)("shows it where $fault", ({ breaks, rules }) => {
    const law = LAWS[breaks]
    if (law === undefined) throw new Error(`there is no law ${breaks}`)
    const found = fc.check(
      fc.property(registrationHistories, (history) => law(play(rules, history)) === ""),
      { seed: SEED, numRuns: 20_000 },
    )
    expect(found.failed).toBe(true)
  })
})
