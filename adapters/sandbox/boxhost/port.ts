/**
 * Runs boxes: machines for AI workers, each with a folder, processes and, usually, access to the
 * public internet. A box lives as long as its lease, whether this program runs or not.
 *
 * All calls may throw ProviderUnavailable (nothing was done) and ProviderOutcomeUnknown.
 */
import type { Duplex } from "node:stream"
import type { BoxSize } from "../../../domain/boxes/box-size.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/**
 * The folder of the repository in every box; commands start there, and paths are relative to it.
 */
export const WORKSPACE = "/workspace/repo"

/** Identifies a sandbox: a box, a build, or a company's apps. */
export type SandboxId = BoxId | `build_${string}` | `app_${string}`

/** The size of a sandbox: a box size, or that of builds or previews. */
export type SandboxSize = BoxSize | "build" | "preview"

/** The mount point of a volume in its sandbox. */
export const VOLUME_PATH = "/data"

/** A disk that outlives its sandbox, which mounts it at `/data`. One sandbox uses it at a time. */
export interface Volume {
  /** A folder that only the volume uses; created if missing. */
  readonly path: string
  /** Size of the volume. */
  readonly bytes: number
  /**
   * Size limits of folders in it, bytes by name; all processes are killed when a folder exceeds its
   * limit.
   */
  readonly folderLimits: Readonly<Record<string, number>>
}

/** Programs of this machine that a sandbox can read. */
export interface MountedPrograms {
  /** A folder of this machine. */
  readonly hostPath: string
  /** Mount point in the sandbox. */
  readonly sandboxPath: string
}

/** The plan of a box or another sandbox. */
export interface BoxPlan {
  readonly boxId: SandboxId
  readonly companyId: CompanyId
  readonly size: SandboxSize
  /** Whether it has access to the public internet, if the machine supports it. Default `out`. */
  readonly network?: "out" | "none"
  /** In addition to the programs that every box has. */
  readonly programs?: MountedPrograms
  readonly volume?: Volume
  /** Lifetime unless extended, milliseconds. */
  readonly leaseMs: number
  /** Environment variables of every command. */
  readonly environment: Readonly<Record<string, string>>
}

/** A host of boxes, real or simulated. */
export interface BoxHost {
  /** Identifies the host; boxes of another host cannot be reached. Plain characters. */
  readonly hostId: string
  /** Whether another sandbox of this size fits now: memory, disk and number. */
  readonly hasRoom: (size: SandboxSize) => Promise<boolean>
  /**
   * Starts a box; resolves when commands run in it. An existing box of this id is returned
   * unchanged.
   *
   * @throws BoxRequestRejected if it can never be started like this
   */
  readonly start: (plan: BoxPlan) => Promise<BoxHandle>
  /** A running box; null if there is none. */
  readonly find: (boxId: SandboxId) => Promise<BoxHandle | null>
  /** Every box that runs here, including unknown ones. */
  readonly listBoxes: () => Promise<readonly BoxId[]>
  /** All running sandboxes: boxes, builds and previews. */
  readonly listSandboxes: () => Promise<readonly SandboxId[]>
  /** Deletes the volume of a sandbox that does not run. Idempotent. */
  readonly removeVolume: (path: string) => Promise<void>
}

/** The status of a box, from inside. */
export interface BoxHealth {
  /** Remaining lease, milliseconds. */
  readonly leaseLeftMs: number
  /** Number of activities, which keep the box from being idle; never decreases. */
  readonly activities: number
  /** Whether a caller waits for a command in it. */
  readonly isBusy: boolean
  readonly network: "slirp" | "pasta" | "none"
}

export interface CommandOptions {
  /** Working folder, relative to the repository's; default: that folder. */
  readonly cwd?: string
  readonly stdin?: AsyncIterable<Uint8Array>
  /** The command and its children are killed after this, milliseconds. */
  readonly timeoutMs: number
  /** Bytes of each output that are kept; the rest is read and dropped. */
  readonly maxOutputBytes: number
  /**
   * The kept part of a longer output: by default the beginning; with `ends` also as much of its
   * end, and a line between with the number of dropped bytes.
   */
  readonly keptOutput?: "beginning" | "ends"
  /** In addition to the plan's variables. */
  readonly environment?: Readonly<Record<string, string>>
  /** Whether it counts as activity. */
  readonly isActivity: boolean
}

export interface CommandResult {
  /** 124 after the timeout, 126 if it could not start, 128 and more if a signal ended it. */
  readonly exitCode: number
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  /** Whether output was dropped. */
  readonly isTruncated: { readonly stdout: boolean; readonly stderr: boolean }
  readonly isTimedOut: boolean
}

/** A command in the background. */
export interface BoxProcess {
  readonly id: string
  /** The process id inside the box. */
  readonly pid: number
  readonly command: string
  readonly status: "running" | "exited"
  /** Null while it runs. */
  readonly exitCode: number | null
}

/** The output of a background command. */
export interface ProcessLogs {
  readonly stdout: string
  readonly stderr: string
  /** True if invalid UTF-8 was replaced with U+FFFD. */
  readonly replacedBytes?: true
}

/** A handle of a box. Its calls throw BoxGone after the box has ended. */
export interface BoxHandle {
  readonly boxId: SandboxId
  readonly readHealth: () => Promise<BoxHealth>
  /** Sets the remaining lease, milliseconds. */
  readonly extend: (leaseMs: number) => Promise<void>
  /**
   * Runs a program and waits for it. It continues if its caller disconnects.
   *
   * @throws BoxRequestRejected if the folder does not exist or too many commands run
   */
  readonly run: (argv: readonly string[], options: CommandOptions) => Promise<CommandResult>
  /** Runs a shell command as `run` does, with `bash` if the box has it, else `sh`. */
  readonly runShell: (command: string, options: CommandOptions) => Promise<CommandResult>
  /** Starts a background command with the same shell. @throws BoxRequestRejected as `run` does */
  readonly spawn: (command: string, cwd?: string) => Promise<BoxProcess>
  /** The background commands, oldest first, including ended ones. */
  readonly listProcesses: () => Promise<readonly BoxProcess[]>
  /**
   * The output so far: the newest part, after a line with the number of dropped bytes. Null:
   * unknown id.
   */
  readonly readLogs: (processId: string) => Promise<ProcessLogs | null>
  /** Kills a command with its children; false for an unknown id, true for one that has ended. */
  readonly stopProcess: (processId: string) => Promise<boolean>
  /** Connects to a port in the box; traffic counts as activity. Null if nothing listens. */
  readonly connectToPort: (port: number) => Promise<Duplex | null>
  /** Ends the box; resolves when its processes and files are gone. Idempotent. */
  readonly stop: () => Promise<void>
}

/** The box has ended. */
export class BoxGone extends Error {
  override readonly name = "BoxGone"
}

/** Why a box rejects a command: its folder, too many commands, or its words. */
export type BoxRejectionReason = "folder" | "busy" | "words"

/** The box rejects a request; the message is a sentence for its user. */
export class BoxRequestRejected extends Error {
  override readonly name = "BoxRequestRejected"
  readonly reason: BoxRejectionReason

  constructor(reason: BoxRejectionReason, message: string) {
    super(message)
    this.reason = reason
  }
}

export interface BoxFileEntry {
  readonly name: string
  readonly type: "file" | "directory" | "link" | "other"
  /** Bytes. */
  readonly size: number
  /** UTC milliseconds since 1970, by the clock of the box. */
  readonly modifiedAt: number
  /** Whether the name has invalid UTF-8, shown as U+FFFD; no path can name such a file. */
  readonly isReplaced: boolean
}

/**
 * Why a path operation fails. `folder`: the path is a folder; `no-file`: it is neither file nor
 * folder; `no-folder`: the path to list is not a folder; `failed`: for example, the disk is full.
 */
export type BoxFileErrorReason =
  "folder" | "missing" | "no-file" | "no-folder" | "denied" | "too-large" | "failed"

/** A failed path operation. */
export interface BoxFileError {
  readonly ok: false
  readonly reason: BoxFileErrorReason
  /** The box's error output; mostly empty. */
  readonly detail: string
}

/** A git author or committer. */
export interface GitIdentity {
  readonly name: string
  readonly email: string
}

/** The code to check out in a box. */
export interface CodeCheckout {
  /** All objects that the commit reaches; empty without a commit. */
  readonly pack: AsyncIterable<Uint8Array>
  /** Without `refs/heads/`; created if the repository lacks it. */
  readonly branch: string
  /** Null for an empty repository: the first commit starts the branch. */
  readonly tip: string | null
  /** The default committer in the box; null for none. */
  readonly identity: GitIdentity | null
}

/** A commit to take out of a box. */
export interface CodeCommitRequest {
  readonly branch: string
  /** The last commit that both the repository and the box have; its objects are not packed. */
  readonly base: string | null
  readonly message: string
  readonly author: GitIdentity
}

/** The result of taking a commit out of a box. */
export type CodeCommitResult =
  | { readonly outcome: "nothing" }
  /** Git's output; untrusted. */
  | { readonly outcome: "refused"; readonly exitCode: number; readonly output: string }
  | {
      readonly outcome: "commit"
      readonly tip: string
      /** A thin pack, to be read once; then the box deletes it. @throws PackTruncated */
      readonly pack: AsyncIterable<Uint8Array>
      /** As reported by the box. */
      readonly bytes: number
    }

/** A pack from a box is incomplete. */
export class PackTruncated extends Error {
  override readonly name = "PackTruncated"
}

/** Transfers code into and out of boxes as git packs. All calls throw errors of `BoxHandle.run`. */
export interface BoxCodeTransfer {
  /**
   * Creates a box's repository and checks its branch out. Idempotent, so that work in the box is
   * kept. Returns git's error output; null on success.
   */
  readonly checkOut: (box: BoxHandle, checkout: CodeCheckout) => Promise<string | null>
  /** Commits the changes in a box and packs the branch's commits since the base. */
  readonly commit: (box: BoxHandle, request: CodeCommitRequest) => Promise<CodeCommitResult>
}

/** The result of a path operation. */
export type BoxFileResult<T> = ({ readonly ok: true } & T) | BoxFileError

/** The files of boxes, accessed from inside. All calls throw errors of `BoxHandle.run`. */
export interface BoxFileSystem {
  /** Lists a folder, sorted by name; `isCut` if it has more entries than returned. */
  readonly listFolder: (
    box: BoxHandle,
    path: string,
    filter: { readonly hidden: boolean },
  ) => Promise<
    BoxFileResult<{ readonly entries: readonly BoxFileEntry[]; readonly isCut: boolean }>
  >
  /** Reads a file of at most `maxBytes`. */
  readonly readFile: (
    box: BoxHandle,
    path: string,
    maxBytes: number,
  ) => Promise<BoxFileResult<{ readonly bytes: Uint8Array }>>
  /** Creates or replaces a file; a replaced one keeps its mode. */
  readonly writeFile: (
    box: BoxHandle,
    path: string,
    bytes: Uint8Array,
  ) => Promise<BoxFileResult<object>>
  /** Removes a file or a link, never a folder. */
  readonly removeFile: (box: BoxHandle, path: string) => Promise<BoxFileResult<object>>
}
