/**
 * `ports.companyCode`: the companies' code for other slices, which check it out, publish it and push to it.
 * Every pack that they push passes all checks of a push.
 */
import type { BranchPack } from "../../adapters/git/port.ts"
import {
  GitFailed,
  GitUnavailable,
  RepositoryNotFound,
  TooManyFiles,
} from "../../adapters/git/port.ts"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { hasRepository } from "../../domain/code/code-views.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { syncHead } from "./reconcile-refs.ts"
import { escapeNonPrintable } from "./push-refusal.ts"
import type { PushRules } from "./serve-push.ts"
import { withPushCheck } from "./serve-push.ts"
import { causedBy } from "../frame/kernel/envelope.ts"

interface FoundCode {
  /** Branch name without `refs/heads/`; in an empty repository no such branch exists. */
  readonly defaultBranch: string
  /** Commit of each branch, by branch name. */
  readonly tips: ReadonlyMap<string, string>
}

/** New commits of a branch, from an untrusted machine. */
interface PushedPack extends Pick<BranchPack, "tip" | "pack" | "signal"> {
  /** Branch name; a new branch is created. */
  readonly branch: string
}

interface PushOutcome {
  readonly pushed: boolean
  /** Message lines for the person who pushed; empty if the push was accepted. */
  readonly lines: readonly string[]
}

interface FoundCommit {
  /** Bytes of a file; null if missing, a link, a folder or larger than `mostBytes`. */
  readonly file: (path: string, mostBytes: number) => Promise<Uint8Array | null>
  /**
   * A tar archive of all files, created while it is read.
   *
   * @throws ProviderUnavailable while reading, if it cannot be created now; TooManyFiles
   */
  readonly files: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

const MAX_ARCHIVE_BYTES = 2 * 1024 * 1024 * 1024

export interface CompanyCode {
  /** Null if the company has no repository. @throws ProviderUnavailable if it cannot be read now */
  readonly find: (companyId: CompanyId) => Promise<FoundCode | null>
  /**
   * A pack of everything that a commit reaches, created while it is read.
   *
   * @throws ProviderUnavailable while reading, if it cannot be created now
   */
  readonly pack: (
    companyId: CompanyId,
    commit: string,
    signal: AbortSignal,
  ) => AsyncIterable<Uint8Array>
  /**
   * Finds a commit that a branch or tag reaches; null if there is none.
   *
   * @throws ProviderUnavailable if it cannot be read now
   */
  readonly findCommit: (companyId: CompanyId, commit: string) => Promise<FoundCommit | null>
  /**
   * Accepts a thin pack as a push of the caller, with all checks, facts and limits.
   *
   * @param rules permissions of the caller, checked again when the pack has arrived
   * @throws the errors of the pack; then nothing is pushed
   */
  readonly receivePack: (
    caller: Caller,
    rules: PushRules,
    pushed: PushedPack,
  ) => Promise<PushOutcome>
}

/** Creates the port. */
export function openCompanyCode(ports: () => Ports): CompanyCode {
  return {
    find: (companyId) => find(ports(), companyId),
    pack: (companyId, commit, signal) => packOf(ports(), companyId, commit, signal),
    findCommit: (companyId, commit) => findCommit(ports(), companyId, commit),
    receivePack: (caller, rules, pushed) => receivePack(ports(), caller, rules, pushed),
  }
}

const BRANCHES = "refs/heads/"

const nameOf = (ref: string): string => ref.slice(BRANCHES.length)

async function find(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
) {
  const { repositories, runner } = ports
  return orUnavailable(async (): Promise<FoundCode | null> => {
    if (await repositories.has(companyId)) {
      const tips = (await repositories.listRefs(companyId)).filter(({ ref }) =>
        ref.startsWith(BRANCHES),
      )
      const named = tips.map(({ ref, id }) => [nameOf(ref), id] as const)
      const { ref } = await syncHead(ports, companyId)
      return { defaultBranch: nameOf(ref), tips: new Map(named) }
    }
    if (!(await runner.read(codeStreamOf(companyId), hasRepository))) return null
    throw new ProviderUnavailable(`the repository of ${companyId} is missing from its folder`)
  })
}

/** Turns git's errors into `ProviderUnavailable`. @throws ProviderUnavailable */
async function orUnavailable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof GitUnavailable || error instanceof RepositoryNotFound)) throw error
    throw new ProviderUnavailable(`the code cannot be read: ${error.message}`, { cause: error })
  }
}

async function* packOf(
  { packSlots, repositories }: Pick<Ports, "packSlots" | "repositories">,
  companyId: CompanyId,
  commit: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const release = await packSlots.reserve("out", companyId, signal)
  if (release === null) throw new ProviderUnavailable("too many clones and pushes are in progress")
  try {
    yield* await orUnavailable(() => repositories.packCommit(companyId, commit))
  } finally {
    release()
  }
}

async function findCommit(
  ports: Pick<Ports, "packSlots" | "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
  commit: string,
): Promise<FoundCommit | null> {
  const { repositories } = ports
  if ((await find(ports, companyId)) === null) return null
  const isReachable = await orUnavailable(() => repositories.isReachable(companyId, commit))
  if (!isReachable) return null
  return {
    file: async (path, mostBytes) => {
      const read = () => repositories.readFile(companyId, commit, path, mostBytes)
      const found = await orUnavailable(read)
      return found !== null && FILE_MODES.includes(found.mode) ? found.bytes : null
    },
    files: (signal) => archiveOf(ports, companyId, commit, signal),
  }
}

/** Git's modes of a file and of an executable file. */
const FILE_MODES = ["100644", "100755"]

async function* archiveOf(
  { packSlots, repositories }: Pick<Ports, "packSlots" | "repositories">,
  companyId: CompanyId,
  commit: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const release = await packSlots.reserve("out", companyId, signal)
  if (release === null) throw new ProviderUnavailable("too many clones and pushes are in progress")
  const archive = (send: (piece: Uint8Array) => Promise<void>) =>
    repositories.archive(companyId, commit, "tar", send)
  try {
    let bytes = 0
    for await (const piece of streamFromSender((send) => orUnavailable(() => archive(send)))) {
      signal.throwIfAborted()
      bytes += piece.length
      if (bytes > MAX_ARCHIVE_BYTES)
        throw new TooManyFiles("the commit's files are more than 2 GiB")
      yield piece
    }
  } finally {
    release()
  }
}

const TRY_LATER = "Nothing was changed. Push again in a minute."

async function receivePack(
  ports: Ports,
  caller: Caller,
  rules: PushRules,
  { branch, ...sent }: PushedPack,
): Promise<PushOutcome> {
  const { companyId } = caller
  const release = await ports.packSlots.reserve("in", companyId, sent.signal)
  if (release === null) return rejectedPush(`Too many pushes are in progress. ${TRY_LATER}`)
  const pack: BranchPack = { companyId, ref: `${BRANCHES}${branch}`, ...sent }
  try {
    const verdict = await withPushCheck(ports, caller, rules, (judge) =>
      ports.repositories.applyPack(pack, judge),
    )
    return verdict.ok ? { pushed: true, lines: [] } : rejectedPush(...verdict.lines)
  } catch (error) {
    const isGitError =
      error instanceof GitFailed ||
      error instanceof GitUnavailable ||
      error instanceof RepositoryNotFound
    if (!isGitError) throw error
    ports.log.warn(`the push of request ${caller.requestId} failed`, error)
    return rejectedPush(`The push failed. ${TRY_LATER}`)
  } finally {
    release()
  }
}

const rejectedPush = (...lines: readonly string[]): PushOutcome => ({
  pushed: false,
  lines: lines.map(escapeNonPrintable),
})

/**
 * Turns a sender of pieces into a stream; a reader that stops early ends the sender.
 *
 * @param give sends each piece after the previous one was read
 */
export async function* streamFromSender(
  give: (send: (piece: Uint8Array) => Promise<void>) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const sent = give((piece) => writer.write(piece)).then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  )
  // If the reader stops early, only the sender sees the error.
  sent.catch(() => undefined)
  yield* readable
  await sent
}

/** Deletes a company's repository and records it; a repeated call is safe. @throws GitUnavailable */
export async function eraseRepository(
  ports: Pick<Ports, "repositories" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { runner, repositories } = ports
  const stream = codeStreamOf(companyId)
  if (!(await runner.readLatest(stream, hasRepository))) return
  // The folder first: after a crash, a fact without the deletion would be wrong.
  await repositories.erase(companyId)
  const cause = causedBy(`erase-company ${companyId}`)
  const outcome = await runner.execute(stream, { type: "EraseRepository" }, cause)
  if (!outcome.accepted)
    throw new Error(`the repository of ${companyId} cannot be erased: ${outcome.refusal.message}`)
}
