/**
 * The companies' repositories: one bare repository per company, served to ordinary `git`. Refs and
 * objects are their own source of truth; facts only report them.
 */
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** The client's command: fetch or push. */
export type PackCommand = "git-upload-pack" | "git-receive-pack"

/** A ref and its object id, 40 hexadecimal digits. */
export interface GitRef {
  readonly ref: string
  readonly id: string
}

/** A ref update of a push; null for a ref that is created or deleted. */
export interface RefUpdate {
  readonly ref: string
  readonly old: string | null
  readonly new: string | null
}

/** The target of a repository's `HEAD`: the default branch, which clones check out. */
export interface GitHead {
  /** For example `refs/heads/main`. */
  readonly ref: string
  /** Whether the branch exists. */
  readonly isBorn: boolean
}

/** An object that a push contains. `size` is unpacked, in bytes. */
export interface PushedObject {
  readonly id: string
  readonly type: "commit" | "tree" | "blob" | "tag"
  readonly size: number
}

/** Longest chunk of an object; smaller objects are one chunk. */
export const MAX_CHUNK_BYTES = 1024 * 1024

/** A chunk of an object; objects larger than `MAX_CHUNK_BYTES` have several, in order. */
export interface ObjectChunk extends PushedObject {
  /** Offset of the chunk in the object, bytes. */
  readonly offset: number
  readonly bytes: Uint8Array
}

/** The entry at a path of a commit. */
export interface GitTreeEntry {
  /** Git's mode: `40000` is a folder, `120000` a symbolic link, `160000` a submodule. */
  readonly mode: string
  readonly id: string
}

/** A push before any ref moves: its updates, and its objects in quarantine. */
export interface IncomingPush {
  readonly updates: readonly RefUpdate[]
  /** The target of `HEAD` before the push. */
  readonly readHead: () => Promise<GitHead>
  /** The commit of the sender's `HEAD`; null if unknown. Only bundles contain it. */
  readonly senderHead: string | null
  /** Aborted when the caller no longer waits; later reads throw. */
  readonly signal: AbortSignal
  /** All objects that the push added, in no order; none if it only deletes refs. */
  readonly listNewObjects: () => AsyncIterable<PushedObject>
  /** The contents of objects of the push or the repository, in the given order. */
  readonly readObjects: (ids: Iterable<string>) => AsyncIterable<ObjectChunk>
  /** The commits that become reachable by the push, with their parents. */
  readonly listNewCommits: () => AsyncIterable<{
    readonly id: string
    readonly parents: readonly string[]
  }>
  /**
   * The entries of the folder at a path, grouped by commits that share it; null entries if a commit
   * has no such folder.
   */
  readonly readFolders: (
    commits: readonly string[],
    path: string,
  ) => AsyncIterable<{
    readonly commits: readonly string[]
    readonly entries: readonly (GitTreeEntry & { readonly name: string })[] | null
  }>
  /** A path of a blob of the push, for messages; null if there is none. */
  readonly findPath: (blob: string) => Promise<string | null>
  /**
   * Whether `newer` is a descendant of `older` or the same commit, so that the update is a
   * fast-forward.
   */
  readonly isAncestor: (older: string, newer: string) => Promise<boolean>
}

/** The decision about a push: accept, or lines for the person at the terminal. */
export type PushVerdict =
  { readonly ok: true } | { readonly ok: false; readonly lines: readonly string[] }

export interface GitSession {
  readonly companyId: CompanyId
  /** The header `Git-Protocol`; null if it is missing or invalid. */
  readonly protocol: string | null
  readonly input: AsyncIterable<Uint8Array>
  readonly send: (chunk: Uint8Array) => Promise<void>
  /** Aborted when the client disconnects or the process is about to stop. */
  readonly signal: AbortSignal
}

/** The new commits of one branch from an untrusted sender. */
export interface BranchPack {
  readonly companyId: CompanyId
  /** A branch: `refs/heads/main`. It is created if missing. */
  readonly ref: string
  /** The new commit of the branch. */
  readonly tip: string
  /**
   * All objects that the repository lacks for that commit; deltas against existing objects are
   * allowed.
   */
  readonly pack: AsyncIterable<Uint8Array>
  /** Aborted when the caller no longer waits or the process is about to stop. */
  readonly signal: AbortSignal
}

/** A commit has too many files: a few objects can name any number of files. */
export class TooManyFiles extends Error {
  override readonly name = "TooManyFiles"
}

/** A git command failed; the message is for the log. */
export class GitFailed extends Error {
  override readonly name = "GitFailed"
}

/** A client's request violates git's protocol. */
export class InvalidGitRequest extends Error {
  override readonly name = "InvalidGitRequest"
}

/** Git or its folder cannot be used; the message says how to fix it. */
export class GitUnavailable extends Error {
  override readonly name = "GitUnavailable"
}

/** A company has no repository. */
export class RepositoryNotFound extends Error {
  override readonly name = "RepositoryNotFound"
}

/** Encodes a line of git's protocol: its length in four hexadecimal digits, then its content. */
export function pktLine(text: string | Uint8Array): Buffer {
  const bytes = Buffer.from(text as string)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes])
}

/** Ends a section of git's protocol. */
export const FLUSH_PACKET = Buffer.from("0000")

/** The result of removing an object from a repository. */
export type ScrubResult =
  | { readonly outcome: "removed" | "missing" }
  /** A branch or tag, or its history, still contains the object at this path. */
  | { readonly outcome: "reachable"; readonly path: string }

/**
 * The folder of a company's repository, in hexadecimal because some file systems ignore letter
 * case.
 */
export const repositoryFolderName = (companyId: CompanyId): string =>
  Buffer.from(companyId).toString("hex")

/**
 * The repositories. Calls throw RepositoryNotFound for a missing repository, GitUnavailable if git
 * cannot be used, and GitFailed if a command fails.
 */
export interface Repositories {
  /**
   * Creates an empty repository whose `HEAD` points to `refs/heads/main`; an existing one stays
   * unchanged.
   */
  readonly create: (companyId: CompanyId) => Promise<void>
  readonly has: (companyId: CompanyId) => Promise<boolean>
  /** Sends the refs, which a client requests first. */
  readonly advertiseRefs: (
    companyId: CompanyId,
    service: PackCommand,
    protocol: string | null,
    send: (chunk: Uint8Array) => Promise<void>,
  ) => Promise<void>
  /**
   * Serves a fetch.
   *
   * @returns the error if git failed in the middle of its answer and the client did not cause it
   * @throws GitFailed if git failed before its answer; InvalidGitRequest if the client caused it
   */
  readonly uploadPack: (session: GitSession) => Promise<GitFailed | null>
  /**
   * Receives a push; no ref moves before `judge` accepts it. Resolves when git has ended, even if
   * the client is gone. @throws errors of `judge`, which reject the push
   */
  readonly receivePush: (
    session: GitSession,
    judge: (push: IncomingPush) => Promise<PushVerdict>,
  ) => Promise<void>
  /**
   * Applies new commits of a branch, judged like a push. An update that is not a fast-forward is
   * rejected before `judge`. @throws errors of `judge` and of the pack
   */
  readonly applyPack: (
    pack: BranchPack,
    judge: (push: IncomingPush) => Promise<PushVerdict>,
  ) => Promise<PushVerdict>
  /** Streams a pack of all objects that a commit reaches. */
  readonly packCommit: (companyId: CompanyId, commit: string) => Promise<AsyncIterable<Uint8Array>>
  readonly listRefs: (companyId: CompanyId) => Promise<readonly GitRef[]>
  readonly readHead: (companyId: CompanyId) => Promise<GitHead>
  /** Points `HEAD` to a branch, such as `refs/heads/trunk`. */
  readonly setHead: (companyId: CompanyId, ref: string) => Promise<void>
  /**
   * The entry at a path of a commit; null if there is none or it is longer than `maxBytes`. Entries
   * that are not blobs have empty bytes.
   */
  readonly readFile: (
    companyId: CompanyId,
    commit: string,
    path: string,
    maxBytes: number,
  ) => Promise<(GitTreeEntry & { readonly bytes: Uint8Array }) | null>
  /** Whether a branch or a tag reaches a commit. */
  readonly isReachable: (companyId: CompanyId, commit: string) => Promise<boolean>
  /** A commit's files as a tar or zip archive. */
  readonly archive: (
    companyId: CompanyId,
    commit: string,
    format: "tar" | "zip",
    send: (chunk: Uint8Array) => Promise<void>,
  ) => Promise<void>
  /** Sends the repository as one bundle file; returns false for an empty repository. */
  readonly bundle: (
    companyId: CompanyId,
    send: (chunk: Uint8Array) => Promise<void>,
  ) => Promise<boolean>
  /** Applies all refs of a bundle, judged like a push. */
  readonly importBundle: (
    companyId: CompanyId,
    bundle: AsyncIterable<Uint8Array>,
    judge: (push: IncomingPush) => Promise<PushVerdict>,
  ) => Promise<PushVerdict>
  /** Repacks the repository; files that are still being written stay. */
  readonly maintain: (companyId: CompanyId) => Promise<void>
  /**
   * Removes an object of any type and everything unreachable, because git serves any object to
   * clients that know its id. No ref may move meanwhile.
   */
  readonly scrub: (companyId: CompanyId, object: string) => Promise<ScrubResult>
  /**
   * Removes what crashes left long ago: quarantines, keep files of packs, incomplete and
   * half-erased folders.
   */
  readonly sweep: () => Promise<void>
  /** Erases a repository; idempotent after a crash. */
  readonly erase: (companyId: CompanyId) => Promise<void>
}
