/** Rules that are wrong on purpose, and the law that each breaks. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { RegistrationCommand } from "../../domain/registration/registration-commands.ts"
import type { RegistrationEvent } from "../../domain/registration/registration-events.ts"
import { registration } from "../../domain/registration/registration.ts"
import type { Rules } from "./registration-laws.ts"

/** Decides as is right but for what it changes of the facts, or of the command. */
const recording = (change: (fact: RegistrationEvent) => readonly RegistrationEvent[]): Rules => ({
  ...registration,
  decide: (command, state, stamp) => {
    const answer = registration.decide(command, state, stamp)
    return isRefusal(answer) ? answer : answer.flatMap(change)
  },
})

type Sent = Extract<RegistrationCommand, { type: "SubmitPart" }>

/** Sends what is refused with one of these codes. */
const accepting = (...codes: readonly string[]): Rules => ({
  ...registration,
  decide: (command, state, stamp) => {
    const answer = registration.decide(command, state, stamp)
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
  ...registration,
  decide: (command, state, stamp) =>
    command.type === type ? make(command, stamp.at) : registration.decide(command, state, stamp),
})

function madeOf(command: RegistrationCommand, at: number): readonly RegistrationEvent[] {
  switch (command.type) {
    case "UnreachPart": {
      const { submissionId, why, reasons } = command
      return [{ type: "PartUnreached", at, part: "business", submissionId, why, reasons }]
    }
    case "AnswerPart": {
      const { submissionId, verdict, reasons } = command
      return [{ type: "PartAnswered", at, part: "business", submissionId, verdict, reasons }]
    }
    case "AnswerNumber": {
      const { numberId, verdict, reasons } = command
      return [{ type: "NumberAnswered", at, numberId, verdict, reasons }]
    }
    default:
      return []
  }
}

/** Each with the law that it breaks. */
export const FAULTS: readonly {
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
    rules: always("UnreachPart", madeOf),
  },
  {
    fault: "an answer to a former attempt counts",
    breaks: "an answer is to what carriers have of what was sent last, and says something new",
    rules: always("AnswerPart", madeOf),
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
      ...registration,
      decide: (command, state, stamp) => {
        const answer = registration.decide(command, state, stamp)
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
    rules: always("AnswerNumber", madeOf),
  },
]
