/**
 * The code of a company: its refs, the pushes in progress, scrubs and allowed secrets.
 *
 * Stream `code-<companyId>`: two events per push and one per refusal, up to a limit per minute. The repository is
 * the source of truth for refs, and they move outside of appends: a push is accepted here, git moves its refs, and
 * reading them afterwards ends the push. `version` counts everything that can change the refs: a reader who read
 * before it changed must read again.
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

interface PendingUpdate {
  readonly refHash: string
  readonly old: string | null
  readonly new: string | null
  /** A later push started where this one ends: the ref has moved, although it points elsewhere now. */
  hasMoved: boolean
}

interface Pending {
  readonly updates: readonly PendingUpdate[]
  readonly core: { readonly refHash: string; readonly tree: string | null } | null
}

/** Further refusals in a minute are not recorded, so that a refused caller cannot grow the stream. */
const MAX_REFUSALS_PER_MINUTE = 10

const MINUTE_MS = 60_000

interface State {
  isThere: boolean
  readonly refs: Map<string, string>
  /**
   * The default branch, once a push has moved it or an operator has chosen it. The tree is null if there is none or
   * it is unknown.
   */
  core: { readonly refHash: string; readonly tree: string | null } | null
  /** Accepted pushes that have not ended, in the order of acceptance. */
  readonly pending: Map<PushId, Pending>
  readonly allowed: Set<string>
  /** The object that a running scrub removes; null if there is none. */
  scrubbing: string | null
  /** Starts and ends of scrubs. A push whose transfer started before one may build on deleted objects. */
  scrubs: number
  version: number
  /** The minute of the last refusal, counted from 1970, and the refusals recorded in it. */
  minute: number
  inMinute: number
}

/** The state of a company's code. Only this file and `code-views.ts` access its fields. */
export type CodeState = State

/** The rules of a company's code. */
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
      return startScrub(command, state, at)
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
  // Git checked the push against objects that the scrub may have deleted.
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
  // A pending push may move the branch and change the core that the command names.
  if (state.pending.size > 0) return refuse("push_under_way", at)
  if (state.core?.refHash === refHash && state.core.tree === tree) return []
  return [{ ...command, type: "DefaultBranchChanged", at }]
}

function startScrub(
  { blob }: StartScrub,
  state: CodeState,
  at: number,
): readonly CodeEvent[] | CodeRefused {
  if (!state.isThere) return refuse("no_repository", at)
  if (state.scrubbing === blob) return []
  if (state.scrubbing !== null) return refuse("being_cleaned", at)
  // Its refs are about to move and may reach objects that the scrub would delete.
  if (state.pending.size > 0) return refuse("push_under_way", at)
  return [{ type: "ScrubStarted", at, blob }]
}

const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS)

/** The most refs that can exist once this push and all accepted ones have landed. */
function refsWith({ refs, pending }: CodeState, { updates }: Pick<AcceptPush, "updates">): number {
  const all = new Set(refs.keys())
  for (const update of [...[...pending.values()].flatMap((push) => push.updates), ...updates]) {
    if (update.new !== null) all.add(update.refHash)
  }
  for (const update of updates) if (update.new === null) all.delete(update.refHash)
  return all.size
}

function reconcile(
  { pushId, readVersion, refs }: ReconcileRefs,
  state: CodeState,
  at: number,
): readonly CodeEvent[] | CodeRefused {
  if (readVersion !== state.version) return refuse("looked_too_early", at)
  const push = pushId === null ? undefined : state.pending.get(pushId)
  const others = [...state.pending].filter(([id]) => id !== pushId).map(([, other]) => other)
  const found = new Map(refs.map(({ refHash, id }) => [refHash, id]))
  const currentId = (tag: string): string | null => {
    const id = found.get(tag)
    return id === undefined ? (state.refs.get(tag) ?? null) : id
  }
  if (pushId !== null && push !== undefined) {
    if (
      push.updates.every((one) => one.hasMoved || hasMoved(one, currentId(one.refHash), others))
    ) {
      return [{ type: "PushCompleted", at, pushId }]
    }
  }
  // A ref that another push moved is recorded when that push ends.
  const unexpected = refs.filter(
    ({ refHash, id }) =>
      (state.refs.get(refHash) ?? null) !== id && !isRequestedBy(others, refHash, id),
  )
  if (push !== undefined) return [{ type: "RefsReconciled", at, pushId, refs: unexpected }]
  return unexpected.length === 0
    ? []
    : [{ type: "RefsReconciled", at, pushId: null, refs: unexpected }]
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
  for (const { refHash, old, new: id, hasMoved: wasMovedOn } of push?.updates ?? []) {
    markMovedBefore(state.pending.values(), refHash, old)
    // A later push has already moved the ref on.
    if (wasMovedOn) continue
    setRef(state, refHash, id)
    if (push?.core?.refHash === refHash) moveCore(state, push.core)
  }
  return state
}

/** Sets the core of a push that moved the default branch, unless another branch is the default now. */
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
    const update = push?.updates.find((one) => one.refHash === refHash && one.new === id)
    if (update !== undefined) markMovedBefore(state.pending.values(), refHash, update.old)
    setRef(state, refHash, id)
    if (update !== undefined && push?.core?.refHash === refHash) moveCore(state, push.core)
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

/** The checkpoint format of a company's code. */
export const codeCheckpoint: CheckpointFormat<CodeState> = {
  version: 3,
  save: ({ refs, pending, allowed, ...plain }): Saved => [
    ...([plain, [...refs], [...pending], [...allowed]] as const),
  ],
  load: (saved) => {
    const [plain, refs, pending, allowed] = saved as Saved
    const copies = pending.map(([id, push]): readonly [PushId, Pending] => {
      return [id, { ...push, updates: push.updates.map((one) => ({ ...one })) }]
    })
    return { ...plain, refs: new Map(refs), pending: new Map(copies), allowed: new Set(allowed) }
  },
}

/** Estimates the memory of a company's code in bytes. */
export function codeBytes({ refs, pending, allowed }: CodeState): number {
  return 1_000 + refs.size * 250 + pending.size * 20_000 + allowed.size * 150
}

function pendingOf({ updates, core }: CodeFact<"PushAccepted">): Pending {
  const pendingUpdates = updates.map(({ refHash, old, new: requested }) => {
    return { refHash, old, new: requested, hasMoved: false }
  })
  return { updates: pendingUpdates, core }
}

/** Whether a ref has moved as requested: it points there, or other pushes have moved it on from there. */
function hasMoved(
  { refHash, new: requested }: PendingUpdate,
  now: string | null,
  others: readonly Pending[],
): boolean {
  const updatesOfRef = others.flatMap(({ updates }) =>
    updates.filter((one) => one.refHash === refHash),
  )
  // Follow the pending pushes backwards from where the ref points now.
  const reached = new Set([now])
  for (const id of reached) {
    if (id === requested) return true
    for (const one of updatesOfRef) if (one.new === id) reached.add(one.old)
  }
  return false
}

function isRequestedBy(pushes: readonly Pending[], tag: string, id: string | null): boolean {
  return pushes.some(({ updates }) => updates.some((one) => one.refHash === tag && one.new === id))
}

/** Marks all updates that end where a completed one started: they happened before it. */
function markMovedBefore(pushes: Iterable<Pending>, tag: string, start: string | null): void {
  for (const { updates } of pushes) {
    for (const one of updates) if (one.refHash === tag && one.new === start) one.hasMoved = true
  }
}
