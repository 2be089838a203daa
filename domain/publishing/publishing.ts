/**
 * What a company publishes: one commit after the other becomes its preview.
 *
 * Stream `publish-<companyId>`. Each has its place in the order in which they were asked for: one that was
 * asked for later and is live is never followed by an earlier one (specification, "Publish";
 * decisions.md §10). What becomes live, what that replaces and what it overtakes are told in one append.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { PublishId } from "./ids.ts"
import type { PublishCommand, PublishRefused } from "./publish-commands.ts"
import { PUBLISH_REFUSAL_MESSAGES } from "./publish-commands.ts"
import type { ArtifactKind, PublishEvent, PublishFact } from "./publish-events.ts"

/** A publish that is live. */
export interface LivePublish {
  readonly publishId: PublishId
  readonly kind: ArtifactKind
}

/** How far a publish has come (specification, "Publish"). */
export const PUBLISH_STATUSES = [
  ...(["queued", "building", "uploading", "live", "replaced", "failed"] as const),
] as const

/** How far a publish has come. */
export type PublishStatus = (typeof PUBLISH_STATUSES)[number]

/**
 * One that has ended is known for so long, milliseconds: by then its charge has ended, too, and a request
 * that comes again is answered by that.
 */
const ENDED_RETENTION_MS = 7 * 24 * 3_600_000

interface Publish {
  /** Its place among all. */
  order: number
  status: PublishStatus
  readonly commit: string
  readonly chargeId: string
  readonly at: number
  /** Null while it has not ended; what is live has. */
  endedAt: number | null
  /** Whether the preview has shown it. */
  wasLive: boolean
  /** Whether it was queued again after what it cost was given back. */
  isFree: boolean
  /** What was built of it, while that is kept. */
  artifact: { readonly kind: ArtifactKind; readonly tag: string } | null
}

interface State {
  readonly publishes: Map<PublishId, Publish>
  /** Those that never begin, by when that was said. */
  readonly abandoned: Map<PublishId, number>
  /** How many were queued, or queued again, so far. */
  count: number
  live: PublishId | null
  /** What was live before it. */
  previous: PublishId | null
}

/** What a company publishes. Only the functions of this file look inside. */
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

/** That one is replaced before it was live, where a later one is; null where none is. */
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
  const late = supersededEvents(state, publishId, known, at)
  if (late !== null) return late
  const replaced = (one: PublishId, wasLive: boolean): PublishFact<"PublishReplaced"> => {
    return { type: "PublishReplaced", at, publishId: one, by: publishId, wasLive }
  }
  const waiting = [...state.publishes].filter(
    ([, { endedAt, order }]) => endedAt === null && order < known.order,
  )
  return [
    { type: "PublishLive", at, publishId },
    ...(state.live === null ? [] : [replaced(state.live, true)]),
    ...waiting.map(([one]) => replaced(one, false)),
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
  // No fact stands before the first.
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

/** Lets go of those that ended long ago, and of which nothing is kept. */
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

/** A publish. */
export type PublishView = Readonly<Publish>

/** How a publish stands; null where there is none, or it ended long ago. */
export const publishOf =
  (publishId: PublishId) =>
  ({ publishes }: PublishingState): PublishView | null => {
    const known = publishes.get(publishId)
    return known === undefined ? null : { ...known }
  }

/** Whether it was made sure that one never begins. */
export const isPublishAbandoned =
  (publishId: PublishId) =>
  ({ abandoned }: PublishingState): boolean =>
    abandoned.has(publishId)

/** What the preview shows; null for nothing so far. */
export function livePublishOf({ live, publishes }: PublishingState): LivePublish | null {
  const artifact = live === null ? null : (publishes.get(live)?.artifact ?? null)
  return live === null || artifact === null ? null : { publishId: live, kind: artifact.kind }
}

/** Whether an app is live, or is about to be. */
export function needsAppHost({ live, publishes }: PublishingState): boolean {
  return [...publishes].some(
    ([publishId, { artifact, endedAt }]) =>
      artifact?.kind === "app" && (publishId === live || endedAt === null),
  )
}

/**
 * The publishes of which something is kept and nothing is served any more: all that ended but what is live
 * and what was so before.
 */
export function removablePublishes({
  live,
  previous,
  publishes,
}: PublishingState): readonly PublishId[] {
  return [...publishes].flatMap(([publishId, { artifact, endedAt }]) => {
    const isOver = artifact !== null && endedAt !== null
    return isOver && publishId !== live && publishId !== previous ? [publishId] : []
  })
}

/** How it is kept beside its stream. */
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

/** What the state takes in memory, in bytes, about. */
export function publishBytes({ publishes, abandoned }: PublishingState): number {
  return 1_000 + publishes.size * 600 + abandoned.size * 100
}
