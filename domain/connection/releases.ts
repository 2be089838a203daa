/**
 * The releases of the app, by channel, and what the protected core of each looks like.
 *
 * Stream `releases`: an operator's clicks.
 */
import type { Decider, Stamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, flag, plain, text, time } from "../kernel/format.ts"
import type { Version } from "./versions.ts"
import { compareVersions, versionOf } from "./versions.ts"

/** Everything that can happen to releases. */
export const releaseFormats = {
  /** A version can be installed from a channel. */
  ReleasePublished: {
    version: 1,
    fields: {
      at: time,
      version: plain,
      channel: plain,
      notes: text,
      /** Whether an app must not go on without it. */
      required: flag,
    },
  },
  /** What the protected core of a version is known by: the hash of its tree. */
  ReleaseSealed: { version: 1, fields: { at: time, version: plain, tree: plain } },
} satisfies FormatTable

/** Everything that can happen to releases. */
export type ReleaseEvent = FactOf<typeof releaseFormats>

/** Writes and reads the facts of releases. */
export const releaseCodec = codecOf(releaseFormats)

/** Publishes a version in a channel. The same again: nothing new. */
export interface PublishRelease {
  readonly type: "PublishRelease"
  readonly version: string
  readonly channel: string
  readonly notes: string
  readonly required: boolean
}

/** Says what the protected core of a version is known by. The same again: nothing new. */
export interface SealRelease {
  readonly type: "SealRelease"
  readonly version: string
  readonly tree: string
}

/** A release was refused. */
export interface ReleaseRefused {
  readonly type: "ReleaseRefused"
  readonly at: number
  readonly code: "bad_version" | "version_taken" | "seal_taken"
  readonly message: string
}

interface Release extends Omit<PublishRelease, "type"> {
  readonly order: Version
  readonly publishedAt: number
}

/** The releases there are. Only the functions of this file look inside. */
export interface Releases {
  /** Of each channel, the oldest version first. */
  readonly byChannel: Map<string, Release[]>
  /** By the version as it was written when it was sealed. */
  readonly trees: Map<string, string>
}

/** The rules of releases. */
export const releases: Decider<
  PublishRelease | SealRelease,
  Releases,
  ReleaseEvent,
  ReleaseRefused
> = {
  initial: () => ({ byChannel: new Map(), trees: new Map() }),
  decide,
  evolve,
}

function decide(
  command: PublishRelease | SealRelease,
  state: Releases,
  { at }: Stamp,
): readonly ReleaseEvent[] | ReleaseRefused {
  const { version } = command
  const refuse = (code: ReleaseRefused["code"], message: string): ReleaseRefused => {
    return { type: "ReleaseRefused", at, code, message }
  }
  const order = versionOf(version)
  if (order === null) return refuse("bad_version", "A version is written like 2.1.0 or 2.1.0-rc.1.")
  if (command.type === "SealRelease") {
    const former = state.trees.get(version)
    if (former === command.tree) return []
    if (former === undefined) return [{ type: "ReleaseSealed", at, version, tree: command.tree }]
    return refuse("seal_taken", "This version is sealed with another tree.")
  }
  const { channel, notes, required } = command
  const former = channelOf(state, channel).find((one) => compareVersions(one.order, order) === 0)
  if (former === undefined) {
    return [{ type: "ReleasePublished", at, version, channel, notes, required }]
  }
  const isSame =
    former.version === version && former.notes === notes && former.required === required
  if (isSame) return []
  return refuse("version_taken", "This version is published in this channel, with other words.")
}

function evolve(state: Releases, event: ReleaseEvent): Releases {
  switch (event.type) {
    case "ReleasePublished": {
      const { type: _type, at: publishedAt, ...release } = event
      const order = versionOf(event.version)
      if (order === null) return state
      const others = channelOf(state, event.channel)
      const sorted = [...others, { ...release, order, publishedAt }].toSorted((a, b) =>
        compareVersions(a.order, b.order),
      )
      state.byChannel.set(event.channel, sorted)
      return state
    }
    case "ReleaseSealed":
      state.trees.set(event.version, event.tree)
      return state
    default:
      return unreachable(event)
  }
}

function channelOf(state: Releases, channel: string): readonly Release[] {
  return state.byChannel.get(channel) ?? []
}

/** The newest version of a channel; null where nothing was published in it. */
export function latestVersion(state: Releases, channel: string): string | null {
  return channelOf(state, channel).at(-1)?.version ?? null
}

/** A release as an app that is older sees it. */
export interface Update {
  readonly version: string
  /** The version of the channel that it follows on; null for the first. */
  readonly from: string | null
  readonly notes: string
  readonly publishedAt: number
  readonly required: boolean
}

/** The releases of a channel that are newer than a version, the oldest first. */
export function updatesAfter(
  state: Releases,
  channel: string,
  version: Version,
): readonly Update[] {
  const all = channelOf(state, channel)
  return all.flatMap(({ order, version: name, notes, publishedAt, required }, i) => {
    if (compareVersions(order, version) <= 0) return []
    return [{ version: name, from: all[i - 1]?.version ?? null, notes, publishedAt, required }]
  })
}

/** The trees that the protected core of a company's code may be: those of all releases. */
export function sealedTrees({ trees }: Releases): ReadonlySet<string> {
  return new Set(trees.values())
}

/**
 * The newest release of a channel whose protected core is known, unless code with this tree has taken it
 * in: its tree is that release's, or a later one's. Null where it has, or there is none.
 */
export function notTakenIn(
  state: Releases,
  channel: string,
  tree: string | null,
): { readonly version: string; readonly required: boolean } | null {
  const newest = channelOf(state, channel).findLast(({ version }) => state.trees.has(version))
  if (newest === undefined) return null
  for (const [version, sealed] of state.trees) {
    const order = versionOf(version)
    if (order === null || sealed !== tree) continue
    if (compareVersions(order, newest.order) >= 0) return null
  }
  return { version: newest.version, required: newest.required }
}

/** Whether the protected core that an app of this version reports is the official one. */
export function sealStanding(
  state: Releases,
  version: string,
  seal: string | null,
): "matches" | "changed" | "unknown" {
  const tree = state.trees.get(version)
  if (tree === undefined || seal === null) return "unknown"
  return tree === seal.toLowerCase() ? "matches" : "changed"
}
