/**
 * Where boxes run: machines for AI workers, each with a folder, processes and, mostly, a way out to the
 * public internet. A box lives as long as its lease, whether this program runs or not.
 *
 * All of it may throw ProviderUnavailable (nothing was done) and ProviderOutcomeUnknown (nobody knows).
 */
import type { Duplex } from "node:stream"
import type { BoxSize } from "../../../domain/boxes/box-size.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** The folder of the repository in every box; commands begin there, and paths are relative to it. */
export const WORKSPACE = "/workspace/repo"

/** Names a sandbox: a box, a build, or where the apps of a company run. */
export type SandboxId = BoxId | `build_${string}` | `app_${string}`

/** How large a sandbox is: as a box of some size, or as what builds and apps have. */
export type SandboxSize = BoxSize | "build" | "preview"

/** Where a sandbox sees its volume. */
export const VOLUME_PATH = "/data"

/** A disk that outlives its sandbox, which sees it at `/data`. One sandbox has it at a time. */
export interface Volume {
  /** A folder that is the volume's alone; it is made where it is not there. */
  readonly path: string
  /** So much fits in. */
  readonly bytes: number
  /** Folders of it that may have less, bytes by their names: whatever runs is ended where one has more. */
  readonly folderLimits: Readonly<Record<string, number>>
}

/** Programs of this machine that a sandbox sees, and cannot write. */
export interface MountedPrograms {
  /** A folder of this machine. */
  readonly hostPath: string
  /** Where it lies in the sandbox. */
  readonly sandboxPath: string
}

/** What a box, or another sandbox, is to be. */
export interface BoxPlan {
  readonly boxId: SandboxId
  readonly companyId: CompanyId
  readonly size: SandboxSize
  /** Whether it reaches the public internet, where anything does. Default `out`. */
  readonly network?: "out" | "none"
  /** Beside those that every box sees. */
  readonly programs?: MountedPrograms
  readonly volume?: Volume
  /** How long it lives if nobody extends it, milliseconds. */
  readonly leaseMs: number
  /** What every command in it finds in its environment. */
  readonly environment: Readonly<Record<string, string>>
}

/** Machines, or what stands for them. */
export interface BoxHost {
  /** Names where its boxes live: whoever has another name cannot reach them. Plain characters. */
  readonly hostId: string
  /** Whether one more of this size fits now: memory, disk and number. */
  readonly hasRoom: (size: SandboxSize) => Promise<boolean>
  /**
   * Makes a box and resolves once commands run in it; one of this id that is there is answered as it is.
   *
   * @throws BoxRefused where it can never be made so
   */
  readonly start: (plan: BoxPlan) => Promise<BoxHandle>
  /** A box that runs; null where there is none. */
  readonly find: (boxId: SandboxId) => Promise<BoxHandle | null>
  /** Every box that runs here, also those that nobody knows of. */
  readonly listBoxes: () => Promise<readonly BoxId[]>
  /** Everything that runs here: boxes and the rest. */
  readonly listSandboxes: () => Promise<readonly SandboxId[]>
  /** Takes a volume away whose sandbox does not run. One that is not there: nothing. */
  readonly removeVolume: (path: string) => Promise<void>
}

/** What a box says of itself. */
export interface BoxHealth {
  /** How long it lives yet, milliseconds. */
  readonly leaseLeftMs: number
  /** How many things were done in it that keep it from being idle; it never falls. */
  readonly activities: number
  /** Whether a command runs in it that somebody waits for. */
  readonly isBusy: boolean
  readonly network: "slirp" | "pasta" | "none"
}

/** How a command is run. */
export interface CommandOptions {
  /** Where; relative to the repository's folder; default that. */
  readonly cwd?: string
  readonly stdin?: AsyncIterable<Uint8Array>
  /** All that it started is ended after this, milliseconds. */
  readonly timeoutMs: number
  /** So much of each output is kept, bytes; the rest is read and thrown away. */
  readonly maxOutputBytes: number
  /**
   * What is kept of an output that has more: default its beginning; with `ends` as much of its end too,
   * and a line between the two that says how much was left out.
   */
  readonly keptOutput?: "beginning" | "ends"
  /** Beside what the plan says. */
  readonly environment?: Readonly<Record<string, string>>
  /** Whether it keeps the box from being idle. */
  readonly isActivity: boolean
}

/** What a command came to. */
export interface CommandResult {
  /** 124 where its time was over, 126 where it could not be started, 128 and more where a signal ended it. */
  readonly exitCode: number
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  /** Whether there was more than is kept. */
  readonly isTruncated: { readonly stdout: boolean; readonly stderr: boolean }
  readonly isTimedOut: boolean
}

/** A command in the background. */
export interface BoxProcess {
  readonly id: string
  /** In the box. */
  readonly pid: number
  readonly command: string
  readonly status: "running" | "exited"
  /** Null while it runs. */
  readonly exitCode: number | null
}

/** What a command in the background wrote. */
export interface ProcessLogs {
  readonly stdout: string
  readonly stderr: string
  /** True where bytes that are no UTF-8 are shown as U+FFFD. */
  readonly replacedBytes?: true
}

/** A box. What is asked of one that has ended throws BoxGone. */
export interface BoxHandle {
  readonly boxId: SandboxId
  readonly readHealth: () => Promise<BoxHealth>
  /** From now on it lives so long, milliseconds. */
  readonly extend: (leaseMs: number) => Promise<void>
  /**
   * Runs a program and waits for it. One whose caller went away runs on.
   *
   * @throws BoxRefused where there is no such folder to run it in, or too many run
   */
  readonly run: (argv: readonly string[], options: CommandOptions) => Promise<CommandResult>
  /** Runs a command as a caller typed it, by `bash` where the box has it, else by `sh`; otherwise as `run`. */
  readonly runShell: (command: string, options: CommandOptions) => Promise<CommandResult>
  /** Begins a command in the background, by the same shell. @throws BoxRefused as `run` */
  readonly spawn: (command: string, cwd?: string) => Promise<BoxProcess>
  /** Those in the background, the first first; ended ones are among them. */
  readonly listProcesses: () => Promise<readonly BoxProcess[]>
  /** What one wrote so far: of more than is kept the newest, behind a line that says so. Null: no such one. */
  readonly readLogs: (processId: string) => Promise<ProcessLogs | null>
  /** Ends one with all that it started; false where there is no such one. One that has ended: true. */
  readonly stopProcess: (processId: string) => Promise<boolean>
  /**
   * A connection to a port in the box, which keeps it from being idle whenever anything passes; null where
   * nobody listens there.
   */
  readonly connectToPort: (port: number) => Promise<Duplex | null>
  /** Ends it; resolves when nothing of it lives and its files are gone. Again: nothing. */
  readonly stop: () => Promise<void>
}

/** A box that was there has ended. */
export class BoxGone extends Error {
  override readonly name = "BoxGone"
}

/** What of a command a box says no to: where it begins, that as many run as may, or its own words. */
export type BoxRejectionReason = "folder" | "busy" | "words"

/** What was asked for cannot be had as it was asked; the message is a sentence for its user. */
export class BoxRequestRejected extends Error {
  override readonly name = "BoxRequestRejected"
  readonly reason: BoxRejectionReason

  constructor(why: BoxRejectionReason, message: string) {
    super(message)
    this.reason = why
  }
}

/** What a folder of a box has. */
export interface BoxFileEntry {
  readonly name: string
  readonly type: "file" | "directory" | "link" | "other"
  /** Bytes. */
  readonly size: number
  /** UTC milliseconds since 1970, by the clock of the box. */
  readonly modifiedAt: number
  /** Whether the name has bytes that are no UTF-8: each is shown as U+FFFD, and no path reaches it. */
  readonly isReplaced: boolean
}

/**
 * Why something cannot be done with a path of a box. `folder`: it is one; `no-file`: it is neither file
 * nor folder; `no-folder`: what was to be listed is none; `failed`: as when the disk is full.
 */
export type BoxFileErrorReason =
  "folder" | "missing" | "no-file" | "no-folder" | "denied" | "too-large" | "failed"

/** Something cannot be done with a path of a box. */
export interface BoxFileError {
  readonly ok: false
  readonly reason: BoxFileErrorReason
  /** What the box says of it; mostly nothing. */
  readonly detail: string
}

/** Somebody, as git names them. */
export interface GitIdentity {
  readonly name: string
  readonly email: string
}

/** What a box begins with. */
export interface CodeCheckout {
  /** All that the commit reaches; empty where there is none. */
  readonly pack: AsyncIterable<Uint8Array>
  /** Without `refs/heads/`; it is made where the repository has none of its name. */
  readonly branch: string
  /** Null for an empty repository: its branch begins with the first commit. */
  readonly tip: string | null
  /** Who commits in the box, unless told otherwise; null: nobody. */
  readonly identity: GitIdentity | null
}

/** What is to be taken out of a box. */
export interface CodeCommitRequest {
  readonly branch: string
  /** The commit that the repository has of it, and the box: nothing that it reaches is packed. */
  readonly base: string | null
  readonly message: string
  readonly author: GitIdentity
}

/** What came of taking code out of a box. */
export type CodeCommitResult =
  | { readonly outcome: "nothing" }
  /** Git's own words; they may be anything that is written in a box. */
  | { readonly outcome: "refused"; readonly exitCode: number; readonly output: string }
  | {
      readonly outcome: "commit"
      readonly tip: string
      /** A thin pack, to be read once: then nothing of it is left in the box. @throws PackTruncated */
      readonly pack: AsyncIterable<Uint8Array>
      /** As the box says. */
      readonly bytes: number
    }

/** What a box says of its code is none, or is torn. */
export class PackTruncated extends Error {
  override readonly name = "PackTruncated"
}

/** Code into boxes and out of them, as packs of git. All of it throws what `Box.run` does. */
export interface BoxCodeTransfer {
  /**
   * Makes the repository of a box and checks its branch out. Again: nothing, so that a work that was
   * begun is kept. Answers git's own words where it did not; null where it did.
   */
  readonly checkOut: (box: BoxHandle, brought: CodeCheckout) => Promise<string | null>
  /** Commits what is in a box, and packs what its branch has beyond the base. */
  readonly commit: (box: BoxHandle, taken: CodeCommitRequest) => Promise<CodeCommitResult>
}

/** What came of something done with a path of a box. */
export type BoxFileResult<T> = ({ readonly ok: true } & T) | BoxFileError

/** The files of boxes, through the boxes' own eyes. All of it throws what `Box.run` does. */
export interface BoxFileSystem {
  /** What a folder has, by its names; `isCut` where it has more than is told. */
  readonly listFolder: (
    box: BoxHandle,
    path: string,
    shown: { readonly hidden: boolean },
  ) => Promise<
    BoxFileResult<{ readonly entries: readonly BoxFileEntry[]; readonly isCut: boolean }>
  >
  /** The bytes of a file that has so many at most. */
  readonly readFile: (
    box: BoxHandle,
    path: string,
    mostBytes: number,
  ) => Promise<BoxFileResult<{ readonly bytes: Uint8Array }>>
  /** Makes a file or replaces one, which keeps its mode. */
  readonly writeFile: (
    box: BoxHandle,
    path: string,
    bytes: Uint8Array,
  ) => Promise<BoxFileResult<object>>
  /** Takes a file or a link away; a folder stays. */
  readonly removeFile: (box: BoxHandle, path: string) => Promise<BoxFileResult<object>>
}
