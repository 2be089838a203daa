/** What must hold of every history of a company's audio, said without a look at how it is decided. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Decider, DecisionStamp } from "../../domain/kernel/decider.ts"
import type { RecordingEvent, RecordingFact } from "../../domain/recordings/recording-events.ts"
import type {
  RecordingCommand,
  RecordingRefused,
  RecordingsState,
} from "../../domain/recordings/recordings.ts"
import { DAY_MS } from "./recording-commands.ts"

/** The rules, or such as are wrong on purpose. */
export type RecordingDecider = Decider<
  RecordingCommand,
  RecordingsState,
  RecordingEvent,
  RecordingRefused
>

/** A command with its stamp, and what was recorded by it. */
export interface RecordingStep {
  readonly command: RecordingCommand
  readonly at: number
  readonly facts: readonly RecordingEvent[]
  /** What the same command records right behind it. */
  readonly repeatedFacts: readonly RecordingEvent[]
}

/** Decides commands one after the other. */
export function playRecordingCommands(
  { initial, decide, evolve }: RecordingDecider,
  history: readonly { readonly command: RecordingCommand; readonly stamp: DecisionStamp }[],
): readonly RecordingStep[] {
  let state = initial()
  const ask = (command: RecordingCommand, stamp: DecisionStamp): readonly RecordingEvent[] => {
    const answer = decide(command, state, stamp)
    return isRefusal(answer) ? [] : answer
  }
  return history.map(({ command, stamp }) => {
    const facts = ask(command, stamp)
    state = facts.reduce((folded, fact) => evolve(folded, fact), state)
    return { command, at: stamp.at, facts, repeatedFacts: ask(command, stamp) }
  })
}

type StoredAudio = RecordingFact<"RecordingStored">

const nameOf = ({ callId, kind }: Pick<StoredAudio, "callId" | "kind">) => `${callId} ${kind}`

/** What is held, and for how long it is kept, by the facts alone. */
interface StoredRecordings {
  readonly recordings: ReadonlyMap<string, StoredAudio>
  readonly retentionDays: number | null
}

function after(
  { recordings, retentionDays }: StoredRecordings,
  fact: RecordingEvent,
): StoredRecordings {
  const next = new Map(recordings)
  if (fact.type === "RecordingStored") next.set(nameOf(fact), fact)
  if (fact.type === "RecordingDeleted") next.delete(nameOf(fact))
  return {
    recordings: next,
    retentionDays: fact.type === "RetentionSet" ? fact.days : retentionDays,
  }
}

const NOTHING: StoredRecordings = { recordings: new Map(), retentionDays: null }

const recordingsAfter = (steps: readonly RecordingStep[]): StoredRecordings =>
  steps.flatMap(({ facts }) => facts).reduce(after, NOTHING)

/** Each fact, and what stood before it. */
function statesByFact(
  steps: readonly RecordingStep[],
): readonly (StoredRecordings & { readonly fact: RecordingEvent })[] {
  let before = NOTHING
  return steps
    .flatMap(({ facts }) => facts)
    .map((fact) => {
      const one = { ...before, fact }
      before = after(before, fact)
      return one
    })
}

/** What breaks a law in a history; nothing where it holds. */
export type RecordingLaw = (steps: readonly RecordingStep[]) => readonly string[]

/** By what they say. */
export const RECORDING_LAWS = {
  "the minutes of a day are those of what was kept before its end and is held": (steps) =>
    statesByFact(steps).flatMap(({ fact, recordings }) => {
      if (fact.type !== "StoredMinutesCounted") return []
      let seconds = 0
      for (const audio of recordings.values()) {
        if (audio.at >= fact.day + DAY_MS) continue
        seconds += audio.seconds + ((60 - (audio.seconds % 60)) % 60)
      }
      return seconds === fact.minutes * 60 ? [] : [`${fact.minutes} minutes are ${seconds} seconds`]
    }),
  "a day is counted once, behind those before it, and when it is over": (steps) => {
    let last = Number.NEGATIVE_INFINITY
    return statesByFact(steps).flatMap(({ fact }) => {
      if (fact.type !== "StoredMinutesCounted") return []
      const isRight = fact.day > last && fact.at >= fact.day + DAY_MS
      last = fact.day
      return isRight ? [] : [`${fact.day} was counted at ${fact.at}`]
    })
  },
  "the same audio is kept once, for ever": (steps) => {
    const kept = new Set<string>()
    return statesByFact(steps).flatMap(({ fact }) => {
      if (fact.type !== "RecordingStored") return []
      const wasKept = kept.has(nameOf(fact))
      kept.add(nameOf(fact))
      return wasKept ? [`${nameOf(fact)} was kept twice`] : []
    })
  },
  "what is deleted was held or is on its way, and is deleted once": (steps) => {
    const gone = new Set<string>()
    return steps.flatMap(({ command, facts }, i) => {
      const { recordings } = recordingsAfter(steps.slice(0, i))
      return facts.flatMap((fact) => {
        if (fact.type !== "RecordingDeleted") return []
        const name = nameOf(fact)
        const isAwaited =
          command.type === "DeleteRecordings" && command.availableKinds.includes(fact.kind)
        const isRight = !gone.has(name) && (recordings.has(name) || isAwaited)
        gone.add(name)
        return isRight ? [] : [`${name} was not there`]
      })
    })
  },
  "what was deleted is never kept": (steps) => {
    const gone = new Set<string>()
    return statesByFact(steps).flatMap(({ fact }) => {
      if (fact.type === "RecordingDeleted") gone.add(nameOf(fact))
      return fact.type === "RecordingStored" && gone.has(nameOf(fact))
        ? [`${nameOf(fact)} is back`]
        : []
    })
  },
  "a night deletes what is old at the end of its day, and nothing else": (steps) =>
    steps.flatMap(({ command, facts, at }, i) => {
      const gone = facts.flatMap((fact) =>
        fact.type === "RecordingDeleted" && fact.reason === "retention" ? [nameOf(fact)] : [],
      )
      if (command.type !== "DeleteExpiredRecordings" || at < command.day + DAY_MS) {
        return gone.map((name) => `${name} was deleted at another time`)
      }
      const { recordings, retentionDays } = recordingsAfter(steps.slice(0, i))
      const old = [...recordings.values()].flatMap((audio) => {
        const ageMs = command.day + DAY_MS - audio.calledAt
        return retentionDays !== null && ageMs >= retentionDays * DAY_MS ? [nameOf(audio)] : []
      })
      const young = gone.filter((name) => !old.includes(name))
      const left = old.filter((name) => !gone.includes(name) && gone.length < command.maxCount)
      return [...young.map((name) => `${name} is young`), ...left.map((name) => `${name} is left`)]
    }),
  "the same command again records nothing": (steps) =>
    steps.flatMap(({ command, repeatedFacts, facts }) => {
      const isPart = "maxCount" in command && facts.length === command.maxCount
      return repeatedFacts.length === 0 || isPart ? [] : [`${command.type} did it twice`]
    }),
} satisfies Readonly<Record<string, RecordingLaw>>
