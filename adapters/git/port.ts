/**
 * The companies' repositories: one bare repository a company, served to ordinary `git`. Refs and objects are
 * truth of their own and no fold of facts; facts tell of them.
 */
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** What a client of git asks for: to fetch, or to push. */
export type PackCommand = "git-upload-pack" | "git-receive-pack"

/** A ref and where it points: an object's id, 40 hexadecimal digits. */
export interface GitRef {
  readonly ref: string
  readonly id: string
}

/** A ref as a push wants it; null where it is made, or taken away. */
export interface RefUpdate {
  readonly ref: string
  readonly old: string | null
  readonly new: string | null
}

/** Where a repository's `HEAD` points: its default branch, which clones check out. */
export interface GitHead {
  /** As `refs/heads/main`. */
  readonly ref: string
  /** Whether the repository has a branch of that name. */
  readonly isBorn: boolean
}

/** An object that a push brought. `size` is unpacked, in bytes. */
export interface PushedObject {
  readonly id: string
  readonly type: "commit" | "tree" | "blob" | "tag"
  readonly size: number
}

/** An object with so many bytes comes as one piece; of a larger one each piece has fewer. */
export const MAX_CHUNK_BYTES = 1024 * 1024

/** An object's bytes; of a larger one than `MAX_CHUNK_BYTES` they come in pieces, one behind the other. */
export interface ObjectChunk extends PushedObject {
  /** How many bytes of the object stand before these. */
  readonly offset: number
  readonly bytes: Uint8Array
}

/** What stands at a path of a commit. */
export interface GitTreeEntry {
  /** As git writes it: `40000` is a folder, `120000` a link, `160000` another repository. */
  readonly mode: string
  readonly id: string
}

/** A push before any ref moves: what it wants, and what it brought, in its quarantine. */
export interface IncomingPush {
  readonly updates: readonly RefUpdate[]
  /** Where the repository's `HEAD` points before the push. */
  readonly readHead: () => Promise<GitHead>
  /** The commit of the sender's own `HEAD`; null where the push does not say it. Only bundles do. */
  readonly senderHead: string | null
  /** Aborted when nobody waits for it any more: whatever is read of it then throws. */
  readonly signal: AbortSignal
  /** All objects that it brought and that were not there, in no order; none where it only takes refs away. */
  readonly listNewObjects: () => AsyncIterable<PushedObject>
  /** The contents of some of its objects, or of those before, in the order they are named. */
  readonly readObjects: (ids: Iterable<string>) => AsyncIterable<ObjectChunk>
  /** The commits that branches and tags reach by it and none reaches yet, each with its parents. */
  readonly listNewCommits: () => AsyncIterable<{
    readonly id: string
    readonly parents: readonly string[]
  }>
  /** The entries of the folders at a path of commits, each with those that have it; null where there is none. */
  readonly readFolders: (
    commits: readonly string[],
    path: string,
  ) => AsyncIterable<{
    readonly commits: readonly string[]
    readonly entries: readonly (GitTreeEntry & { readonly name: string })[] | null
  }>
  /** A path at which a blob that it brought stands, to tell people; null where it stands at none. */
  readonly findPath: (blob: string) => Promise<string | null>
  /** Whether one commit is another's descendant, or the same: then a ref is not forced. */
  readonly isAncestor: (older: string, newer: string) => Promise<boolean>
}

/** What is said to a push: yes, or lines for the person at the terminal. */
export type PushVerdict =
  { readonly ok: true } | { readonly ok: false; readonly lines: readonly string[] }

/** A conversation with a client of git. */
export interface GitSession {
  readonly companyId: CompanyId
  /** The header `Git-Protocol`, as far as it is one. */
  readonly protocol: string | null
  readonly input: AsyncIterable<Uint8Array>
  readonly send: (piece: Uint8Array) => Promise<void>
  /** Aborted when the client went away, or the process is about to stop. */
  readonly signal: AbortSignal
}

/** The new commits of one branch, as whoever is not trusted sends them. */
export interface BranchPack {
  readonly companyId: CompanyId
  /** A branch: `refs/heads/main`. It is made where it is not there. */
  readonly ref: string
  /** The commit that it is to point to. */
  readonly tip: string
  /** All that the repository lacks of that commit; it may be told as differences to what it has. */
  readonly pack: AsyncIterable<Uint8Array>
  /** Aborted when nobody waits for it any more, or the process is about to stop. */
  readonly signal: AbortSignal
}

/** A commit has more files than anybody needs: a few objects can name as many as they like. */
export class TooManyFiles extends Error {
  override readonly name = "TooManyFiles"
}

/** A git that did not do what it should; its message is for the log. */
export class GitFailed extends Error {
  override readonly name = "GitFailed"
}

/** What a client asked is no question of git's. */
export class InvalidGitRequest extends Error {
  override readonly name = "InvalidGitRequest"
}

/** There is no git here that can be used, or none of its repositories can be reached: what to do. */
export class GitUnavailable extends Error {
  override readonly name = "GitUnavailable"
}

/** A company has no repository. */
export class RepositoryNotFound extends Error {
  override readonly name = "RepositoryNotFound"
}

/** A line of git's protocol: its length in four hexadecimal digits, and what it says. */
export function pktLine(text: string | Uint8Array): Buffer {
  const bytes = Buffer.from(text as string)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes])
}

/** What ends a section of git's protocol. */
export const FLUSH_PACKET = Buffer.from("0000")

/** What came of taking an object out of a repository. */
export type ScrubResult =
  | { readonly outcome: "gone" | "missing" }
  /** A branch or tag has it still, or its history does: at this path. */
  | { readonly outcome: "reached"; readonly path: string }

/** The folder of a company's repository. Ids that differ in capitals alone are one folder on some machines. */
export const repositoryFolderName = (companyId: CompanyId): string =>
  Buffer.from(companyId).toString("hex")

/**
 * The repositories. What is asked of one that is not there throws RepositoryNotFound; where git cannot be used
 * GitUnavailable; what git fails at GitFailed.
 */
export interface Repositories {
  /** Makes one, empty, whose `HEAD` points to `refs/heads/main`; one that is there stays as it is. */
  readonly create: (companyId: CompanyId) => Promise<void>
  readonly has: (companyId: CompanyId) => Promise<boolean>
  /** The refs, as a client asks for them first. */
  readonly advertiseRefs: (
    companyId: CompanyId,
    service: PackCommand,
    protocol: string | null,
    send: (piece: Uint8Array) => Promise<void>,
  ) => Promise<void>
  /**
   * Gives a client what it asks for.
   *
   * @returns what git complained of where it ended badly amid its answer, and not because of its client
   * @throws GitFailed where git ended before it said anything; InvalidGitRequest where that is its client's fault
   */
  readonly uploadPack: (conversation: GitSession) => Promise<GitFailed | null>
  /**
   * Takes what a client pushes, once `judge` says yes to it: no ref moves before. Resolves when git has
   * ended, whether the client is still there or not. @throws what `judge` throws, as a no to the push
   */
  readonly receivePush: (
    conversation: GitSession,
    judge: (push: IncomingPush) => Promise<PushVerdict>,
  ) => Promise<void>
  /**
   * Takes the new commits of a branch, judged like a push of it. What does not descend from the commit that
   * the branch points to is refused before it is judged. @throws what `judge` and the pack throw
   */
  readonly applyPack: (
    pack: BranchPack,
    judge: (push: IncomingPush) => Promise<PushVerdict>,
  ) => Promise<PushVerdict>
  /** A pack of all that a commit reaches, made while it is read. */
  readonly packCommit: (companyId: CompanyId, commit: string) => Promise<AsyncIterable<Uint8Array>>
  readonly listRefs: (companyId: CompanyId) => Promise<readonly GitRef[]>
  readonly readHead: (companyId: CompanyId) => Promise<GitHead>
  /** Points `HEAD` to a branch: `refs/heads/trunk`. */
  readonly setHead: (companyId: CompanyId, ref: string) => Promise<void>
  /**
   * What stands at a path of a commit; null where nothing does, or more than `mostBytes`. Of what is no
   * blob there are no bytes.
   */
  readonly readFile: (
    companyId: CompanyId,
    commit: string,
    path: string,
    mostBytes: number,
  ) => Promise<(GitTreeEntry & { readonly bytes: Uint8Array }) | null>
  /** Whether a commit is reachable from a branch or a tag. */
  readonly isReachable: (companyId: CompanyId, commit: string) => Promise<boolean>
  /** A commit's files as a tar or zip archive. */
  readonly archive: (
    companyId: CompanyId,
    commit: string,
    format: "tar" | "zip",
    send: (piece: Uint8Array) => Promise<void>,
  ) => Promise<void>
  /** All of a repository as one file; false where it is empty, and there is none. */
  readonly bundle: (
    companyId: CompanyId,
    send: (piece: Uint8Array) => Promise<void>,
  ) => Promise<boolean>
  /** Takes all refs of a bundle in, judged like a push. */
  readonly importBundle: (
    companyId: CompanyId,
    bundle: AsyncIterable<Uint8Array>,
    judge: (push: IncomingPush) => Promise<PushVerdict>,
  ) => Promise<PushVerdict>
  /** Packs what lies about; what somebody still writes stays. */
  readonly maintain: (companyId: CompanyId) => Promise<void>
  /**
   * Takes an object of any type out for good, with all else that no branch or tag reaches: what was pushed
   * once is handed out to whoever knows its id. No ref may move meanwhile.
   */
  readonly scrub: (companyId: CompanyId, object: string) => Promise<ScrubResult>
  /** Takes away what crashes left long ago: quarantines, guards of packs, folders half made and half erased. */
  readonly sweep: () => Promise<void>
  /** Takes a repository away; again after a crash. */
  readonly erase: (companyId: CompanyId) => Promise<void>
}
