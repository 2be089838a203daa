/** Laws that every history of a company's recordings obeys, written independently of the decider. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Decider, DecisionStamp } from "../../domain/kernel/decider.ts"
import type { RecordingEvent, RecordingFact } from "../../domain/recordings/recording-events.ts"
import type {
  RecordingCommand,
  RecordingRefused,
  RecordingsState,
} from "../../domain/recordings/recordings.ts"
import { DAY_MS } from "./recording-commands.ts"

/** The decider of recordings, or a deliberately faulty one. */
export type RecordingDecider = Decider<
  RecordingCommand,
  RecordingsState,
  RecordingEvent,
  RecordingRefused
>

/** A command with its time, and the facts it recorded. */
export interface RecordingStep {
  readonly command: RecordingCommand
  readonly at: number
  readonly facts: readonly RecordingEvent[]
  /** Facts that the same command records when it is repeated immediately. */
  readonly repeatedFacts: readonly RecordingEvent[]
}

/** Executes the commands of a history in order. */
export function playRecordingCommands(
  { initial, decide, evolve }: RecordingDecider,
  history: readonly { readonly command: RecordingCommand; readonly stamp: DecisionStamp }[],
): readonly RecordingStep[] {
  let state = initial()
  const execute = (command: RecordingCommand, stamp: DecisionStamp): readonly RecordingEvent[] => {
    const answer = decide(command, state, stamp)
    return isRefusal(answer) ? [] : answer
  }
  return history.map(({ command, stamp }) => {
    const facts = execute(command, stamp)
    state = facts.reduce((folded, fact) => evolve(folded, fact), state)
    return { command, at: stamp.at, facts, repeatedFacts: execute(command, stamp) }
  })
}

type StoredAudio = RecordingFact<"RecordingStored">

const nameOf = ({ callId, kind }: Pick<StoredAudio, "callId" | "kind">) => `${callId} ${kind}`

/** Stored recordings and the retention, derived from the facts alone. */
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

/** Returns the violations of a law in a history. */
export type RecordingLaw = (steps: readonly RecordingStep[]) => readonly string[]

/** The laws by their statement. */
export const RECORDING_LAWS = {
  "the minutes of a day count the recordings that were stored before its end and are not deleted": (
    steps,
  ) =>
    statesByFact(steps).flatMap(({ fact, recordings }) => {
      if (fact.type !== "StoredMinutesCounted") return []
      let seconds = 0
      for (const audio of recordings.values()) {
        if (audio.at >= fact.day + DAY_MS) continue
        seconds += audio.seconds + ((60 - (audio.seconds % 60)) % 60)
      }
      return seconds === fact.minutes * 60 ? [] : [`${fact.minutes} minutes are ${seconds} seconds`]
    }),
  "each day is counted once, in order, after its end": (steps) => {
    let last = Number.NEGATIVE_INFINITY
    return statesByFact(steps).flatMap(({ fact }) => {
      if (fact.type !== "StoredMinutesCounted") return []
      const isRight = fact.day > last && fact.at >= fact.day + DAY_MS
      last = fact.day
      return isRight ? [] : [`${fact.day} was counted at ${fact.at}`]
    })
  },
  "the same recording is stored at most once": (steps) => {
    const stored = new Set<string>()
    return statesByFact(steps).flatMap(({ fact }) => {
      if (fact.type !== "RecordingStored") return []
      const wasStored = stored.has(nameOf(fact))
      stored.add(nameOf(fact))
      return wasStored ? [`${nameOf(fact)} was stored twice`] : []
    })
  },
  "only a stored or awaited recording is deleted, and once": (steps) => {
    const deleted = new Set<string>()
    return steps.flatMap(({ command, facts }, i) => {
      const { recordings } = recordingsAfter(steps.slice(0, i))
      return facts.flatMap((fact) => {
        if (fact.type !== "RecordingDeleted") return []
        const name = nameOf(fact)
        const isAwaited =
          command.type === "DeleteRecordings" && command.availableKinds.includes(fact.kind)
        const isRight = !deleted.has(name) && (recordings.has(name) || isAwaited)
        deleted.add(name)
        return isRight ? [] : [`${name} was not stored`]
      })
    })
  },
  "a deleted recording is never stored": (steps) => {
    const deleted = new Set<string>()
    return statesByFact(steps).flatMap(({ fact }) => {
      if (fact.type === "RecordingDeleted") deleted.add(nameOf(fact))
      return fact.type === "RecordingStored" && deleted.has(nameOf(fact))
        ? [`${nameOf(fact)} was stored again`]
        : []
    })
  },
  "a nightly deletion takes exactly the recordings that reach the retention age by the end of its day":
    (steps) =>
      steps.flatMap(({ command, facts, at }, i) => {
        const deleted = facts.flatMap((fact) =>
          fact.type === "RecordingDeleted" && fact.reason === "retention" ? [nameOf(fact)] : [],
        )
        if (command.type !== "DeleteExpiredRecordings" || at < command.day + DAY_MS) {
          return deleted.map((name) => `${name} was deleted at another time`)
        }
        const { recordings, retentionDays } = recordingsAfter(steps.slice(0, i))
        const old = [...recordings.values()].flatMap((audio) => {
          const ageMs = command.day + DAY_MS - audio.calledAt
          return retentionDays !== null && ageMs >= retentionDays * DAY_MS ? [nameOf(audio)] : []
        })
        const young = deleted.filter((name) => !old.includes(name))
        const left = old.filter(
          (name) => !deleted.includes(name) && deleted.length < command.maxCount,
        )
        return [
          ...young.map((name) => `${name} is too young`),
          ...left.map((name) => `${name} is left`),
        ]
      }),
  "the same command again records nothing": (steps) =>
    steps.flatMap(({ command, repeatedFacts, facts }) => {
      const isPart = "maxCount" in command && facts.length === command.maxCount
      return repeatedFacts.length === 0 || isPart ? [] : [`${command.type} recorded facts twice`]
    }),
} satisfies Readonly<Record<string, RecordingLaw>>
