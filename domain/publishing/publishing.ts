/**
 * A company's publishes: one commit after another becomes its preview.
 *
 * Stream `publish-<companyId>`. Publishes are ordered by request: once a later one is live, an earlier one can no
 * longer go live (specification, "Publish"; docs/decisions/publishing.md). Going live and the publishes that are
 * replaced by it
 * are one append.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { PublishId } from "./ids.ts"
import type { PublishCommand, PublishRefused } from "./publish-commands.ts"
import { PUBLISH_REFUSAL_MESSAGES } from "./publish-commands.ts"
import type { ArtifactKind, PublishEvent, PublishFact } from "./publish-events.ts"

export interface LivePublish {
  readonly publishId: PublishId
  readonly kind: ArtifactKind
}

/** The statuses of a publish (specification, "Publish"). */
export const PUBLISH_STATUSES = [
  ...(["queued", "building", "uploading", "live", "replaced", "failed"] as const),
] as const

export type PublishStatus = (typeof PUBLISH_STATUSES)[number]

/**
 * How long an ended publish is remembered, in milliseconds: after that its charge has ended too and answers
 * repeated requests.
 */
const ENDED_RETENTION_MS = 7 * 24 * 3_600_000

interface Publish {
  order: number
  status: PublishStatus
  readonly commit: string
  readonly chargeId: string
  readonly at: number
  /** Null until it ends; a live publish has ended. */
  endedAt: number | null
  /** Whether the preview has shown it. */
  wasLive: boolean
  /** Whether it was retried after its charge had been refunded. */
  isFree: boolean
  /** The build's result, while it is stored. */
  artifact: { readonly kind: ArtifactKind; readonly tag: string } | null
}

interface State {
  readonly publishes: Map<PublishId, Publish>
  readonly abandoned: Map<PublishId, number>
  count: number
  live: PublishId | null
  previous: PublishId | null
}

/** The state of a company's publishes. Only the functions of this file access its fields. */
export type PublishingState = State

/** The rules of publishing. */
export const publishingDecider: Decider<
  PublishCommand,
  PublishingState,
  PublishEvent,
  PublishRefused
> = {
  initial: () => ({
    publishes: new Map(),
    abandoned: new Map(),
    count: 0,
    live: null,
    previous: null,
  }),
  decide,
  evolve,
}

function decide(
  command: PublishCommand,
  state: PublishingState,
  { at }: DecisionStamp,
): readonly PublishEvent[] | PublishRefused {
  if (command.type === "ResetPreview") return [{ type: "PreviewReset", at }]
  const { publishId } = command
  const known = state.publishes.get(publishId)
  if (command.type === "QueuePublish") {
    if (state.abandoned.has(publishId)) return refuse("no_publish", at)
    return known === undefined ? [{ ...command, type: "PublishQueued", at }] : []
  }
  if (command.type === "AbandonPublish") {
    const isKnown = known !== undefined || state.abandoned.has(publishId)
    return isKnown ? [] : [{ ...command, type: "PublishAbandoned", at }]
  }
  if (known === undefined) return refuse("no_publish", at)
  const hasEnded = known.endedAt !== null
  switch (command.type) {
    case "RetryPublish":
      if (!hasEnded) return []
      return known.status === "failed"
        ? [{ type: "PublishRetried", at, publishId }]
        : refuse("not_failed", at)
    case "StartBuild":
      if (hasEnded || known.artifact !== null) return []
      return (
        supersededEvents(state, publishId, known, at) ?? [{ type: "BuildStarted", at, publishId }]
      )
    case "FinishBuild":
      return known.status === "building" ? [{ type: "BuildFinished", at, publishId }] : []
    case "StoreArtifact":
      if (hasEnded) return refuse("has_ended", at)
      return known.artifact === null ? [{ ...command, type: "ArtifactStored", at }] : []
    case "GoLive":
      return goLive(state, publishId, known, at)
    case "FailPublish":
      return hasEnded ? [] : [{ ...command, type: "PublishFailed", at }]
    case "RemoveArtifact":
      if (known.artifact === null) return []
      if (!removablePublishes(state).includes(publishId)) return refuse("is_served", at)
      return [{ type: "ArtifactRemoved", at, publishId }]
    default:
      return unreachable(command)
  }
}

/** The replacement of a publish by a later one that is already live; null if there is none. */
function supersededEvents(
  { live, publishes }: PublishingState,
  publishId: PublishId,
  { order }: Publish,
  at: number,
): readonly PublishEvent[] | null {
  if (live === null || (publishes.get(live)?.order ?? 0) < order) return null
  return [{ type: "PublishReplaced", at, publishId, by: live, wasLive: false }]
}

function goLive(
  state: PublishingState,
  publishId: PublishId,
  known: Publish,
  at: number,
): readonly PublishEvent[] | PublishRefused {
  if (known.status === "live") return []
  if (known.endedAt !== null) return refuse("has_ended", at)
  if (known.artifact === null) return refuse("not_built", at)
  const superseded = supersededEvents(state, publishId, known, at)
  if (superseded !== null) return superseded
  const replacedEvent = (replaced: PublishId, wasLive: boolean): PublishFact<"PublishReplaced"> => {
    return { type: "PublishReplaced", at, publishId: replaced, by: publishId, wasLive }
  }
  const waiting = [...state.publishes].filter(
    ([, { endedAt, order }]) => endedAt === null && order < known.order,
  )
  return [
    { type: "PublishLive", at, publishId },
    ...(state.live === null ? [] : [replacedEvent(state.live, true)]),
    ...waiting.map(([earlier]) => replacedEvent(earlier, false)),
  ]
}

function refuse(code: PublishRefused["code"], at: number): PublishRefused {
  return { type: "PublishRefused", at, code, message: PUBLISH_REFUSAL_MESSAGES[code] }
}

function evolve(state: PublishingState, event: PublishEvent): PublishingState {
  if (event.type === "PreviewReset") return state
  const { publishId, at } = event
  if (event.type === "PublishAbandoned") {
    state.abandoned.set(publishId, at)
    return state
  }
  if (event.type === "PublishQueued") {
    forget(state, at)
    const { chargeId, commit } = event
    state.count += 1
    state.publishes.set(publishId, {
      order: state.count,
      status: "queued",
      commit,
      chargeId,
      at,
      endedAt: null,
      wasLive: false,
      isFree: false,
      artifact: null,
    })
    return state
  }
  // `PublishQueued` is always the first event of a publish.
  const known = state.publishes.get(publishId) as Publish
  switch (event.type) {
    case "PublishRetried":
      state.count += 1
      Object.assign(known, { order: state.count, status: "queued", endedAt: null, isFree: true })
      return state
    case "BuildStarted":
      known.status = "building"
      return state
    case "BuildFinished":
      known.status = "uploading"
      return state
    case "ArtifactStored":
      known.status = "uploading"
      known.artifact = { kind: event.kind, tag: event.tag }
      return state
    case "PublishLive":
      state.previous = state.live
      state.live = publishId
      Object.assign(known, { status: "live", endedAt: at, wasLive: true })
      return state
    case "PublishReplaced":
      Object.assign(known, { status: "replaced", endedAt: at })
      return state
    case "PublishFailed":
      Object.assign(known, { status: "failed", endedAt: at })
      return state
    case "ArtifactRemoved":
      known.artifact = null
      return state
    default:
      return unreachable(event)
  }
}

/** Forgets publishes that ended long ago and have no stored result. */
function forget(state: PublishingState, at: number): void {
  const before = at - ENDED_RETENTION_MS
  for (const [publishId, { endedAt, artifact }] of state.publishes) {
    const isNeeded = publishId === state.live || publishId === state.previous || artifact !== null
    if (!isNeeded && endedAt !== null && endedAt < before) state.publishes.delete(publishId)
  }
  for (const [publishId, since] of state.abandoned) {
    if (since < before) state.abandoned.delete(publishId)
  }
}

export type PublishView = Readonly<Publish>

/** Returns a publish; null if it is unknown or forgotten. */
export const publishOf =
  (publishId: PublishId) =>
  ({ publishes }: PublishingState): PublishView | null => {
    const known = publishes.get(publishId)
    return known === undefined ? null : { ...known }
  }

/** Whether a publish was abandoned before it was queued. */
export const isPublishAbandoned =
  (publishId: PublishId) =>
  ({ abandoned }: PublishingState): boolean =>
    abandoned.has(publishId)

/** Returns the live publish; null if there is none. */
export function livePublishOf({ live, publishes }: PublishingState): LivePublish | null {
  const artifact = live === null ? null : (publishes.get(live)?.artifact ?? null)
  return live === null || artifact === null ? null : { publishId: live, kind: artifact.kind }
}

/** Whether an app is live or about to be. */
export function needsAppHost({ live, publishes }: PublishingState): boolean {
  return [...publishes].some(
    ([publishId, { artifact, endedAt }]) =>
      artifact?.kind === "app" && (publishId === live || endedAt === null),
  )
}

/**
 * Lists publishes whose stored result is not served: all that ended, except for the live one and the one before it.
 */
export function removablePublishes({
  live,
  previous,
  publishes,
}: PublishingState): readonly PublishId[] {
  return [...publishes].flatMap(([publishId, { artifact, endedAt }]) => {
    const hasEnded = artifact !== null && endedAt !== null
    return hasEnded && publishId !== live && publishId !== previous ? [publishId] : []
  })
}

/** The checkpoint format of a company's publishes. */
export const publishCheckpoint: CheckpointFormat<PublishingState> = {
  version: 1,
  save: ({ publishes, abandoned, ...rest }) => ({
    ...rest,
    publishes: [...publishes],
    abandoned: [...abandoned],
  }),
  load: (saved) => {
    const { publishes, abandoned, ...rest } = saved as Omit<State, "publishes" | "abandoned"> & {
      readonly publishes: readonly (readonly [PublishId, Publish])[]
      readonly abandoned: readonly (readonly [PublishId, number])[]
    }
    return {
      ...rest,
      publishes: new Map(publishes.map(([publishId, one]) => [publishId, { ...one }])),
      abandoned: new Map(abandoned),
    }
  },
}

/** Estimates the memory of a company's publishes in bytes. */
export function publishBytes({ publishes, abandoned }: PublishingState): number {
  return 1_000 + publishes.size * 600 + abandoned.size * 100
}
