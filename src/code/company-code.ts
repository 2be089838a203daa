/**
 * The companies' code for other slices: those that bring it elsewhere, where somebody works on it, and
 * back. They have it by `ports.companyCode` alone, and what comes back passes every check of a push.
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

/** What a company's repository has. */
interface FoundCode {
  /** Its name; no branch has it where the repository has no commit. */
  readonly defaultBranch: string
  /** The commits of its branches, by their names. */
  readonly tips: ReadonlyMap<string, string>
}

/** New commits of a branch, as a machine sends them that nobody trusts. */
interface PushedPack extends Pick<BranchPack, "tip" | "pack" | "signal"> {
  /** By its name; it is made where it is not there. */
  readonly branch: string
}

/** What came of a push. */
interface PushOutcome {
  readonly pushed: boolean
  /** What is told to whoever pushed, line by line; nothing where it was taken. */
  readonly lines: readonly string[]
}

/** A commit of a company's code. */
interface FoundCommit {
  /** The bytes of a file; null where there is none, it is a link or a folder, or has more than `mostBytes`. */
  readonly file: (path: string, mostBytes: number) => Promise<Uint8Array | null>
  /**
   * All its files, a tar archive, made while it is read.
   *
   * @throws ProviderUnavailable, while it is read, where it cannot be made now; TooManyFiles
   */
  readonly files: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

/** An archive of a commit has at most so many bytes. */
const MAX_ARCHIVE_BYTES = 2 * 1024 * 1024 * 1024

/** The companies' code. */
export interface CompanyCode {
  /** Null where a company has no repository. @throws ProviderUnavailable where it cannot be read now */
  readonly find: (companyId: CompanyId) => Promise<FoundCode | null>
  /**
   * A pack of all that a commit reaches, made while it is read.
   *
   * @throws ProviderUnavailable, while it is read, where it cannot be made now
   */
  readonly pack: (
    companyId: CompanyId,
    commit: string,
    signal: AbortSignal,
  ) => AsyncIterable<Uint8Array>
  /**
   * A commit that a branch or a tag reaches; null where there is none.
   *
   * @throws ProviderUnavailable where it cannot be read now
   */
  readonly findCommit: (companyId: CompanyId, commit: string) => Promise<FoundCommit | null>
  /**
   * Takes a thin pack as a push of the caller's: with its checks, its facts, its limits.
   *
   * @param rules what the caller must be granted, also when the pack is there
   * @throws what the pack throws, and nothing of it is taken
   */
  readonly receivePack: (
    caller: Caller,
    rules: PushRules,
    pushed: PushedPack,
  ) => Promise<PushOutcome>
}

/** Opens it. */
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
    throw new ProviderUnavailable(`the repository of ${companyId} is not in its folder`)
  })
}

/** @throws ProviderUnavailable where git cannot be used */
async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof GitUnavailable || error instanceof RepositoryNotFound)) throw error
    throw new ProviderUnavailable(`the code cannot be had: ${error.message}`, { cause: error })
  }
}

async function* packOf(
  { packSlots, repositories }: Pick<Ports, "packSlots" | "repositories">,
  companyId: CompanyId,
  commit: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const leave = await packSlots.reserve("out", companyId, signal)
  if (leave === null) throw new ProviderUnavailable("too many packs are under way here")
  try {
    yield* await orUnavailable(() => repositories.packCommit(companyId, commit))
  } finally {
    leave()
  }
}

async function findCommit(
  ports: Pick<Ports, "packSlots" | "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
  commit: string,
): Promise<FoundCommit | null> {
  const { repositories } = ports
  if ((await find(ports, companyId)) === null) return null
  const isThere = await orUnavailable(() => repositories.isReachable(companyId, commit))
  if (!isThere) return null
  return {
    file: async (path, mostBytes) => {
      const read = () => repositories.readFile(companyId, commit, path, mostBytes)
      const found = await orUnavailable(read)
      return found !== null && FILE_MODES.includes(found.mode) ? found.bytes : null
    },
    files: (signal) => archiveOf(ports, companyId, commit, signal),
  }
}

/** As git writes a file, and one that can be run. */
const FILE_MODES = ["100644", "100755"]

async function* archiveOf(
  { packSlots, repositories }: Pick<Ports, "packSlots" | "repositories">,
  companyId: CompanyId,
  commit: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const leave = await packSlots.reserve("out", companyId, signal)
  if (leave === null) throw new ProviderUnavailable("too many packs are under way here")
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
    leave()
  }
}

const TRY_LATER = "Nothing was changed. Push again later."

async function receivePack(
  ports: Ports,
  caller: Caller,
  rules: PushRules,
  { branch, ...sent }: PushedPack,
): Promise<PushOutcome> {
  const { companyId } = caller
  const leave = await ports.packSlots.reserve("in", companyId, sent.signal)
  if (leave === null) return rejectedPush(`Too many pushes are under way here. ${TRY_LATER}`)
  const pack: BranchPack = { companyId, ref: `${BRANCHES}${branch}`, ...sent }
  try {
    const verdict = await withPushCheck(ports, caller, rules, (judge) =>
      ports.repositories.applyPack(pack, judge),
    )
    return verdict.ok ? { pushed: true, lines: [] } : rejectedPush(...verdict.lines)
  } catch (error) {
    const isOfGit =
      error instanceof GitFailed ||
      error instanceof GitUnavailable ||
      error instanceof RepositoryNotFound
    if (!isOfGit) throw error
    ports.log.warn(`the push of request ${caller.requestId} could not be taken`, error)
    return rejectedPush(`The push could not be taken. ${TRY_LATER}`)
  } finally {
    leave()
  }
}

const rejectedPush = (...lines: readonly string[]): PushOutcome => ({
  pushed: false,
  lines: lines.map(escapeNonPrintable),
})

/**
 * The pieces that `give` sends, as they are read; whoever reads no further ends it.
 *
 * @param give sends each piece once the one before was taken
 */
export async function* streamFromSender(
  give: (send: (piece: Uint8Array) => Promise<void>) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const given = give((piece) => writer.write(piece)).then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  )
  // Of what nobody reads to its end only its giver hears.
  given.catch(() => undefined)
  yield* readable
  await given
}

/** Takes a company's repository away, and says so; again after a crash. @throws GitUnavailable */
export async function eraseRepository(
  ports: Pick<Ports, "repositories" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { runner, repositories } = ports
  const stream = codeStreamOf(companyId)
  if (!(await runner.readLatest(stream, hasRepository))) return
  // First the folder: a fact that says so before would be wrong after a crash.
  await repositories.erase(companyId)
  const cause = causedBy(`erase-company ${companyId}`)
  const said = await runner.execute(stream, { type: "EraseRepository" }, cause)
  if (!said.accepted) throw new Error(`${companyId} cannot be erased: ${said.refusal.message}`)
}
