/**
 * A company's code: what its pushes came to.
 *
 * Stream `code-<companyId>`: two facts a push, one a refusal, as far as there are not too many of those in a
 * minute. The repository is the truth of its refs, and they move outside of any append: a push is accepted
 * here, git moves its refs, and what is found then ends it. `version` counts all that can change what is
 * found: whoever looked before it changed looks again.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { CodeEvent, CodeFact, PushId } from "./code-events.ts"
import type {
  AcceptPush,
  StartScrub,
  ChangeDefaultBranch,
  CodeCommand,
  CodeRefused,
  ReconcileRefs,
} from "./code-commands.ts"
import { CODE_REFUSAL_MESSAGES } from "./code-commands.ts"
import { MAX_REFS } from "./ref-rules.ts"

/** A ref as an accepted push moves it. */
interface PendingUpdate {
  readonly refHash: string
  readonly old: string | null
  readonly new: string | null
  /** A later push began where this one ends: it has moved, though it does not stand there now. */
  hasMoved: boolean
}

/** A push that was accepted and has not ended. */
interface Pending {
  readonly updates: readonly PendingUpdate[]
  readonly core: { readonly refHash: string; readonly tree: string | null } | null
}

/** So many refusals a minute are facts of their own: who is refused over and over cannot grow the stream. */
const MAX_REFUSALS_PER_MINUTE = 10

const MINUTE_MS = 60_000

interface State {
  isThere: boolean
  /** Where each ref points, by the keyed hash of its name. */
  readonly refs: Map<string, string>
  /**
   * Of the default branch, once a push has moved it or an operator has chosen it. Its tree is null where
   * there is none, or it is unknown.
   */
  core: { readonly refHash: string; readonly tree: string | null } | null
  /** Accepted and not ended, the first accepted first. */
  readonly pending: Map<PushId, Pending>
  readonly allowed: Set<string>
  /** The object for whose sake the repository is being cleaned; null where it is not. */
  scrubbing: string | null
  /** How often that began and ended: a push that git began to take before may build on what is gone. */
  scrubs: number
  version: number
  /** The minute of the last refusal, counted from 1970, and how many are facts in it. */
  minute: number
  inMinute: number
}

/** A company's code. Only this file and `code-views.ts` look inside. */
export type CodeState = State

/** The rules of code. */
export const codeDecider: Decider<CodeCommand, CodeState, CodeEvent, CodeRefused> = {
  initial: () => ({
    isThere: false,
    refs: new Map(),
    core: null,
    pending: new Map(),
    allowed: new Set(),
    version: 0,
    minute: 0,
    inMinute: 0,
    scrubbing: null,
    scrubs: 0,
  }),
  decide,
  evolve,
}

function decide(
  command: CodeCommand,
  state: CodeState,
  { at }: DecisionStamp,
): readonly CodeEvent[] | CodeRefused {
  switch (command.type) {
    case "CreateRepository":
      return state.isThere ? [] : [{ type: "RepositoryCreated", at }]
    case "AcceptPush":
      return accept(command, state, at)
    case "RefusePush": {
      const { isReferenced, ...refusal } = command
      const isFull = state.minute === minuteOf(at) && state.inMinute >= MAX_REFUSALS_PER_MINUTE
      return isFull && !isReferenced ? [] : [{ ...refusal, type: "PushRefused", at }]
    }
    case "ReconcileRefs":
      return reconcile(command, state, at)
    case "ChangeDefaultBranch":
      return changeDefaultBranch(command, state, at)
    case "AllowSecret":
      return state.allowed.has(command.fingerprint)
        ? []
        : [{ ...command, type: "SecretAllowed", at }]
    case "StartScrub":
      return beginScrub(command, state, at)
    case "FinishScrub":
      return state.scrubbing === command.blob ? [{ ...command, type: "ScrubFinished", at }] : []
    case "EraseRepository":
      return state.isThere ? [{ type: "RepositoryErased", at }] : []
    default:
      return unreachable(command)
  }
}

function accept(
  { scrubCount, ...push }: AcceptPush,
  state: CodeState,
  at: number,
): readonly CodeEvent[] | CodeRefused {
  if (!state.isThere) return refuse("no_repository", at)
  if (state.pending.has(push.pushId)) return []
  // Git found all that it builds on before that was taken away.
  if (state.scrubbing !== null || state.scrubs !== scrubCount) return refuse("being_cleaned", at)
  if (refsWith(state, push) > MAX_REFS) return refuse("too_many_refs", at)
  return [{ ...push, type: "PushAccepted", at }]
}

function changeDefaultBranch(
  command: ChangeDefaultBranch,
  state: CodeState,
  at: number,
): readonly CodeEvent[] | CodeRefused {
  const { refHash, tree } = command
  if (!state.isThere) return refuse("no_repository", at)
  // A pending push may move the branch, and with it the core that the command names.
  if (state.pending.size > 0) return refuse("push_under_way", at)
  if (state.core?.refHash === refHash && state.core.tree === tree) return []
  return [{ ...command, type: "DefaultBranchChanged", at }]
}

function beginScrub(
  { blob }: StartScrub,
  state: CodeState,
  at: number,
): readonly CodeEvent[] | CodeRefused {
  if (!state.isThere) return refuse("no_repository", at)
  if (state.scrubbing === blob) return []
  if (state.scrubbing !== null) return refuse("being_cleaned", at)
  // Its refs are about to move, and may reach what would be taken away.
  if (state.pending.size > 0) return refuse("push_under_way", at)
  return [{ type: "ScrubStarted", at, blob }]
}

const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS)

/** How many refs there are once this push and all that were accepted have landed, at most. */
function refsWith({ refs, pending }: CodeState, { updates }: Pick<AcceptPush, "updates">): number {
  const all = new Set(refs.keys())
  for (const one of [...[...pending.values()].flatMap((push) => push.updates), ...updates]) {
    if (one.new !== null) all.add(one.refHash)
  }
  for (const one of updates) if (one.new === null) all.delete(one.refHash)
  return all.size
}

function reconcile(
  { pushId, readVersion, refs }: ReconcileRefs,
  state: CodeState,
  at: number,
): readonly CodeEvent[] | CodeRefused {
  if (readVersion !== state.version) return refuse("looked_too_early", at)
  const own = pushId === null ? undefined : state.pending.get(pushId)
  const others = [...state.pending].filter(([id]) => id !== pushId).map(([, push]) => push)
  const found = new Map(refs.map(({ refHash, id }) => [refHash, id]))
  const now = (tag: string): string | null => {
    const id = found.get(tag)
    return id === undefined ? (state.refs.get(tag) ?? null) : id
  }
  if (pushId !== null && own !== undefined) {
    if (own.updates.every((one) => one.hasMoved || hasMoved(one, now(one.refHash), others))) {
      return [{ type: "PushCompleted", at, pushId }]
    }
  }
  // What another push wanted so is told by that push's own end.
  const strange = refs.filter(
    ({ refHash, id }) =>
      (state.refs.get(refHash) ?? null) !== id && !isWantedBy(others, refHash, id),
  )
  if (own !== undefined) return [{ type: "RefsReconciled", at, pushId, refs: strange }]
  return strange.length === 0 ? [] : [{ type: "RefsReconciled", at, pushId: null, refs: strange }]
}

function refuse(code_: CodeRefused["code"], at: number): CodeRefused {
  return { type: "CodeRefused", at, code: code_, message: CODE_REFUSAL_MESSAGES[code_] }
}

function evolve(state: CodeState, event: CodeEvent): CodeState {
  switch (event.type) {
    case "RepositoryCreated":
      state.isThere = true
      return state
    case "PushAccepted":
      state.version += 1
      state.pending.set(event.pushId, pendingOf(event))
      return state
    case "PushCompleted":
      return evolveCompleted(state, event.pushId)
    case "PushRefused": {
      const minute = minuteOf(event.at)
      state.inMinute = state.minute === minute ? state.inMinute + 1 : 1
      state.minute = minute
      return state
    }
    case "RefsReconciled":
      return evolveReconciled(state, event)
    case "DefaultBranchChanged":
      state.core = { refHash: event.refHash, tree: event.tree }
      return state
    case "SecretAllowed":
      state.allowed.add(event.fingerprint)
      return state
    case "ScrubStarted":
    case "ScrubFinished":
      state.scrubbing = event.type === "ScrubStarted" ? event.blob : null
      state.scrubs += 1
      return state
    case "RepositoryErased":
      Object.assign(state, { isThere: false, core: null, version: state.version + 1 })
      state.scrubbing = null
      state.refs.clear()
      state.pending.clear()
      return state
    default:
      return unreachable(event)
  }
}

function evolveCompleted(state: CodeState, pushId: PushId): CodeState {
  const push = state.pending.get(pushId)
  state.version += 1
  state.pending.delete(pushId)
  for (const { refHash, old, new: id, hasMoved: isBehind } of push?.updates ?? []) {
    markMovedBefore(state.pending.values(), refHash, old)
    // A later push has moved it on already.
    if (isBehind) continue
    setRef(state, refHash, id)
    if (push?.core?.refHash === refHash) moveCore(state, push.core)
  }
  return state
}

/** Takes over the core of a push that moved the default branch, unless another branch is the default by now. */
function moveCore(state: CodeState, core: NonNullable<State["core"]>): void {
  const { core: known, refs } = state
  const isOther = known !== null && known.refHash !== core.refHash && refs.has(known.refHash)
  if (!isOther) state.core = core
}

function evolveReconciled(
  state: CodeState,
  { pushId, refs }: CodeFact<"RefsReconciled">,
): CodeState {
  const push = pushId === null ? undefined : state.pending.get(pushId)
  state.version += 1
  if (pushId !== null) state.pending.delete(pushId)
  for (const { refHash, id } of refs) {
    const own = push?.updates.find((one) => one.refHash === refHash && one.new === id)
    if (own !== undefined) markMovedBefore(state.pending.values(), refHash, own.old)
    setRef(state, refHash, id)
    if (own !== undefined && push?.core?.refHash === refHash) moveCore(state, push.core)
    else if (state.core?.refHash === refHash) state.core = { refHash, tree: null }
  }
  return state
}

function setRef({ refs }: CodeState, tag: string, id: string | null): void {
  if (id === null) refs.delete(tag)
  else refs.set(tag, id)
}

type Saved = readonly [
  Omit<State, "refs" | "pending" | "allowed">,
  readonly (readonly [string, string])[],
  readonly (readonly [PushId, Pending])[],
  readonly string[],
]

/** How a company's code is kept beside its stream. */
export const codeCheckpoint: CheckpointFormat<CodeState> = {
  version: 3,
  save: ({ refs, pending, allowed, ...plain }): Saved => [
    ...([plain, [...refs], [...pending], [...allowed]] as const),
  ],
  load: (saved) => {
    const [plain, refs, pending, allowed] = saved as Saved
    const whole = pending.map(([id, push]): readonly [PushId, Pending] => {
      return [id, { ...push, updates: push.updates.map((one) => ({ ...one })) }]
    })
    return { ...plain, refs: new Map(refs), pending: new Map(whole), allowed: new Set(allowed) }
  },
}

/** What a company's code takes in memory, in bytes, about. */
export function codeBytes({ refs, pending, allowed }: CodeState): number {
  return 1_000 + refs.size * 250 + pending.size * 20_000 + allowed.size * 150
}

/** A push that was accepted just now. */
function pendingOf({ updates, core }: CodeFact<"PushAccepted">): Pending {
  const moving = updates.map(({ refHash, old, new: wanted }) => {
    return { refHash, old, new: wanted, hasMoved: false }
  })
  return { updates: moving, core }
}

/** Whether a ref has moved as wanted: it stands there, or others have moved it on from there. */
function hasMoved(
  { refHash, new: wanted }: PendingUpdate,
  now: string | null,
  others: readonly Pending[],
): boolean {
  const ofTag = others.flatMap(({ updates }) => updates.filter((one) => one.refHash === refHash))
  // Back from where it stands, each step over a push that may have made it.
  const reached = new Set([now])
  for (const id of reached) {
    if (id === wanted) return true
    for (const one of ofTag) if (one.new === id) reached.add(one.old)
  }
  return false
}

/** Whether one of these wants a ref to stand so. */
function isWantedBy(pushes: readonly Pending[], tag: string, id: string | null): boolean {
  return pushes.some(({ updates }) => updates.some((one) => one.refHash === tag && one.new === id))
}

/** Notes of all pushes to a ref that end where one began that moved it: they have moved it before. */
function markMovedBefore(pushes: Iterable<Pending>, tag: string, began: string | null): void {
  for (const { updates } of pushes) {
    for (const one of updates) if (one.refHash === tag && one.new === began) one.hasMoved = true
  }
}
