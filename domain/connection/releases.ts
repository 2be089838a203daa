/**
 * The app's releases by channel, and the protected core of each.
 *
 * Stream `releases`, written by operators.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, asciiText, text, instant } from "../kernel/event-format.ts"

/** The stored formats of events about releases. */
export const releaseFormats = {
  ReleasePublished: {
    version: 1,
    fields: {
      at: instant,
      version: asciiText,
      channel: asciiText,
      notes: text,
      /** Whether an app must not continue without it. */
      required: flag,
    },
  },
  /** The hash of the tree of a version's protected core. */
  ReleaseSealed: { version: 1, fields: { at: instant, version: asciiText, tree: asciiText } },
} satisfies EventFormats

export type ReleaseEvent = FactOf<typeof releaseFormats>

export const releaseCodec = codecOf(releaseFormats)

/** Publishes a version in a channel. Idempotent. */
export interface PublishRelease {
  readonly type: "PublishRelease"
  readonly version: string
  readonly channel: string
  readonly notes: string
  readonly required: boolean
}

/** Records the tree of a version's protected core. Idempotent. */
export interface SealRelease {
  readonly type: "SealRelease"
  readonly version: string
  readonly tree: string
}

interface ReleaseRefused {
  readonly type: "ReleaseRefused"
  readonly at: number
  readonly code: "bad_version" | "version_taken" | "seal_taken"
  readonly message: string
}

interface Release extends Omit<PublishRelease, "type"> {
  readonly order: SemanticVersion
  readonly publishedAt: number
}

interface Releases {
  readonly byChannel: Map<string, Release[]>
  /** By the version's text when it was sealed. */
  readonly trees: Map<string, string>
}

/** The rules of releases. */
export const releasesDecider: Decider<
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
  { at }: DecisionStamp,
): readonly ReleaseEvent[] | ReleaseRefused {
  const { version } = command
  const refuse = (code: ReleaseRefused["code"], message: string): ReleaseRefused => {
    return { type: "ReleaseRefused", at, code, message }
  }
  const order = parseVersion(version)
  if (order === null) return refuse("bad_version", "Write the version like 2.1.0 or 2.1.0-rc.1.")
  if (command.type === "SealRelease") {
    const former = state.trees.get(version)
    if (former === command.tree) return []
    if (former === undefined) return [{ type: "ReleaseSealed", at, version, tree: command.tree }]
    return refuse(
      "seal_taken",
      "This version is already sealed with another tree; seal a new version instead.",
    )
  }
  const { channel, notes, required } = command
  const former = channelOf(state, channel).find((one) => compareVersions(one.order, order) === 0)
  if (former === undefined) {
    return [{ type: "ReleasePublished", at, version, channel, notes, required }]
  }
  const isSame =
    former.version === version && former.notes === notes && former.required === required
  if (isSame) return []
  return refuse(
    "version_taken",
    "This version is already published in this channel with other details; publish a new version instead.",
  )
}

function evolve(state: Releases, event: ReleaseEvent): Releases {
  switch (event.type) {
    case "ReleasePublished": {
      const { type: _type, at: publishedAt, ...release } = event
      const order = parseVersion(event.version)
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

/** Returns the newest version of a channel; null if there is none. */
export function latestVersion(state: Releases, channel: string): string | null {
  return channelOf(state, channel).at(-1)?.version ?? null
}

interface Update {
  readonly version: string
  /** The preceding version of the channel; null for the first. */
  readonly from: string | null
  readonly notes: string
  readonly publishedAt: number
  readonly required: boolean
}

/** Lists the releases of a channel that are newer than a version, oldest first. */
export function updatesAfter(
  state: Releases,
  channel: string,
  version: SemanticVersion,
): readonly Update[] {
  const all = channelOf(state, channel)
  return all.flatMap(({ order, version: name, notes, publishedAt, required }, i) => {
    if (compareVersions(order, version) <= 0) return []
    return [{ version: name, from: all[i - 1]?.version ?? null, notes, publishedAt, required }]
  })
}

/** Returns the trees of all releases, one of which the protected core of a company's code must equal. */
export function releasedCoreTrees({ trees }: Releases): ReadonlySet<string> {
  return new Set(trees.values())
}

/**
 * Returns the newest release of a channel with a known protected core, unless code with this tree already includes
 * it: its tree is that release's or a later one's. Null if it does or there is none.
 */
export function unmergedRelease(
  state: Releases,
  channel: string,
  tree: string | null,
): { readonly version: string; readonly required: boolean } | null {
  const newest = channelOf(state, channel).findLast(({ version }) => state.trees.has(version))
  if (newest === undefined) return null
  for (const [version, sealed] of state.trees) {
    const order = parseVersion(version)
    if (order === null || sealed !== tree) continue
    if (compareVersions(order, newest.order) >= 0) return null
  }
  return { version: newest.version, required: newest.required }
}

/** Compares the protected core that an app of this version reports with the official one. */
export function sealStatusOf(
  state: Releases,
  version: string,
  seal: string | null,
): "matches" | "changed" | "unknown" {
  const tree = state.trees.get(version)
  if (tree === undefined || seal === null) return "unknown"
  return tree === seal.toLowerCase() ? "matches" : "changed"
}

/** A semantic version that can be ordered. */
export interface SemanticVersion {
  readonly numbers: readonly [string, string, string]
  /** The parts after the dash; empty for a full release. */
  readonly prerelease: readonly string[]
}

const NUMBER = "(0|[1-9]\\d*)"
const PART = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)"
export const VERSION_PATTERN = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${PART}(?:\\.${PART})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
)
/** Maximum length of a version in characters. */
export const MAX_VERSION_LENGTH = 64

/** Parses a version; null if the text is not one. */
export function parseVersion(version: string): SemanticVersion | null {
  const match = version.length <= MAX_VERSION_LENGTH ? VERSION_PATTERN.exec(version) : null
  if (match === null) return null
  const [, major = "0", minor = "0", patch = "0", before] = match
  return { numbers: [major, minor, patch], prerelease: before?.split(".") ?? [] }
}

/** Compares two versions: negative if `a` is older, 0 if equal, positive if newer. */
export function compareVersions(a: SemanticVersion, b: SemanticVersion): number {
  for (const [i, number] of a.numbers.entries()) {
    const order = compareDigits(number, b.numbers[i] ?? "0")
    if (order !== 0) return order
  }
  return comparePrereleases(a.prerelease, b.prerelease)
}

/** A full release is newer than its prereleases. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length
  for (let i = 0; i < Math.max(a.length, b.length); i += 1) {
    const [x, y] = [a[i], b[i]]
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1
    const order = compareParts(x, y)
    if (order !== 0) return order
  }
  return 0
}

/** Numbers come before words and are compared by value. */
function compareParts(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber && isOtherNumber) return compareDigits(a, b)
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return a === b ? 0 : a < b ? -1 : 1
}

/** Compares digits of any length without leading zeros. */
function compareDigits(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a === b ? 0 : a < b ? -1 : 1
}
