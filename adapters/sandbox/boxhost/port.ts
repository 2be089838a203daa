/**
 * Where boxes run: machines for AI workers, each with a folder, processes and, mostly, a way out to the
 * public internet. A box lives as long as its lease, whether this program runs or not.
 *
 * All of it may throw ProviderUnavailable (nothing was done) and ProviderSilent (nobody knows).
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
export const VOLUME = "/data"

/** A disk that outlives its sandbox, which sees it at `/data`. One sandbox has it at a time. */
export interface Volume {
  /** A folder that is the volume's alone; it is made where it is not there. */
  readonly path: string
  /** So much fits in. */
  readonly bytes: number
  /** Folders of it that may have less, bytes by their names: whatever runs is ended where one has more. */
  readonly parts: Readonly<Record<string, number>>
}

/** Programs of this machine that a sandbox sees, and cannot write. */
export interface Programs {
  /** A folder of this machine. */
  readonly from: string
  /** Where it lies in the sandbox. */
  readonly at: string
}

/** What a box, or another sandbox, is to be. */
export interface BoxPlan {
  readonly boxId: SandboxId
  readonly companyId: CompanyId
  readonly size: SandboxSize
  /** Whether it reaches the public internet, where anything does. Default `out`. */
  readonly network?: "out" | "none"
  /** Beside those that every box sees. */
  readonly programs?: Programs
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
  readonly start: (plan: BoxPlan) => Promise<Box>
  /** A box that runs; null where there is none. */
  readonly find: (boxId: SandboxId) => Promise<Box | null>
  /** Every box that runs here, also those that nobody knows of. */
  readonly list: () => Promise<readonly BoxId[]>
  /** Everything that runs here: boxes and the rest. */
  readonly sandboxes: () => Promise<readonly SandboxId[]>
  /** Takes a volume away whose sandbox does not run. One that is not there: nothing. */
  readonly removeVolume: (path: string) => Promise<void>
}

/** What a box says of itself. */
export interface BoxSigns {
  /** How long it lives yet, milliseconds. */
  readonly leaseLeftMs: number
  /** How many things were done in it that keep it from being idle; it never falls. */
  readonly activities: number
  /** Whether a command runs in it that somebody waits for. */
  readonly isBusy: boolean
  readonly network: "slirp" | "pasta" | "none"
}

/** How a command is run. */
export interface RunOptions {
  /** Where; relative to the repository's folder; default that. */
  readonly cwd?: string
  readonly stdin?: AsyncIterable<Uint8Array>
  /** All that it started is ended after this, milliseconds. */
  readonly timeoutMs: number
  /** So much of each output is kept, bytes; the rest is read and thrown away. */
  readonly mostBytes: number
  /**
   * What is kept of an output that has more: default its beginning; with `ends` as much of its end too,
   * and a line between the two that says how much was left out.
   */
  readonly keeps?: "beginning" | "ends"
  /** Beside what the plan says. */
  readonly environment?: Readonly<Record<string, string>>
  /** Whether it keeps the box from being idle. */
  readonly activity: boolean
}

/** What a command came to. */
export interface Ran {
  /** 124 where its time was over, 126 where it could not be started, 128 and more where a signal ended it. */
  readonly exitCode: number
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  /** Whether there was more than is kept. */
  readonly isCut: { readonly stdout: boolean; readonly stderr: boolean }
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
export interface Box {
  readonly boxId: SandboxId
  readonly hello: () => Promise<BoxSigns>
  /** From now on it lives so long, milliseconds. */
  readonly extend: (leaseMs: number) => Promise<void>
  /**
   * Runs a program and waits for it. One whose caller went away runs on.
   *
   * @throws BoxRefused where there is no such folder to run it in, or too many run
   */
  readonly run: (argv: readonly string[], options: RunOptions) => Promise<Ran>
  /** Runs a command as a caller typed it, by `bash` where the box has it, else by `sh`; otherwise as `run`. */
  readonly shell: (command: string, options: RunOptions) => Promise<Ran>
  /** Begins a command in the background, by the same shell. @throws BoxRefused as `run` */
  readonly spawn: (command: string, cwd?: string) => Promise<BoxProcess>
  /** Those in the background, the first first; ended ones are among them. */
  readonly processes: () => Promise<readonly BoxProcess[]>
  /** What one wrote so far: of more than is kept the newest, behind a line that says so. Null: no such one. */
  readonly logs: (processId: string) => Promise<ProcessLogs | null>
  /** Ends one with all that it started; false where there is no such one. One that has ended: true. */
  readonly stopProcess: (processId: string) => Promise<boolean>
  /**
   * A connection to a port in the box, which keeps it from being idle whenever anything passes; null where
   * nobody listens there.
   */
  readonly dial: (port: number) => Promise<Duplex | null>
  /** Ends it; resolves when nothing of it lives and its files are gone. Again: nothing. */
  readonly stop: () => Promise<void>
}

/** A box that was there has ended. */
export class BoxGone extends Error {
  override readonly name = "BoxGone"
}

/** What of a command a box says no to: where it begins, that as many run as may, or its own words. */
export type BoxRefusal = "folder" | "busy" | "words"

/** What was asked for cannot be had as it was asked; the message is a sentence for its user. */
export class BoxRefused extends Error {
  override readonly name = "BoxRefused"
  readonly why: BoxRefusal

  constructor(why: BoxRefusal, message: string) {
    super(message)
    this.why = why
  }
}

/** What a folder of a box has. */
export interface BoxEntry {
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
export type FileFaultKind =
  "folder" | "missing" | "no-file" | "no-folder" | "denied" | "too-large" | "failed"

/** Something cannot be done with a path of a box. */
export interface FileFault {
  readonly ok: false
  readonly why: FileFaultKind
  /** What the box says of it; mostly nothing. */
  readonly says: string
}

/** Somebody, as git names them. */
export interface GitPerson {
  readonly name: string
  readonly email: string
}

/** What a box begins with. */
export interface BroughtCode {
  /** All that the commit reaches; empty where there is none. */
  readonly pack: AsyncIterable<Uint8Array>
  /** Without `refs/heads/`; it is made where the repository has none of its name. */
  readonly branch: string
  /** Null for an empty repository: its branch begins with the first commit. */
  readonly tip: string | null
  /** Who commits in the box, unless told otherwise; null: nobody. */
  readonly person: GitPerson | null
}

/** What is to be taken out of a box. */
export interface TakenCode {
  readonly branch: string
  /** The commit that the repository has of it, and the box: nothing that it reaches is packed. */
  readonly base: string | null
  readonly message: string
  readonly author: GitPerson
}

/** What came of taking code out of a box. */
export type CodeOut =
  | { readonly is: "nothing" }
  /** Git's own words; they may be anything that is written in a box. */
  | { readonly is: "refused"; readonly exitCode: number; readonly says: string }
  | {
      readonly is: "commit"
      readonly tip: string
      /** A thin pack, to be read once: then nothing of it is left in the box. @throws CodeTorn */
      readonly pack: AsyncIterable<Uint8Array>
      /** As the box says. */
      readonly bytes: number
    }

/** What a box says of its code is none, or is torn. */
export class CodeTorn extends Error {
  override readonly name = "CodeTorn"
}

/** Code into boxes and out of them, as packs of git. All of it throws what `Box.run` does. */
export interface BoxCode {
  /**
   * Makes the repository of a box and checks its branch out. Again: nothing, so that a work that was
   * begun is kept. Answers git's own words where it did not; null where it did.
   */
  readonly bring: (box: Box, brought: BroughtCode) => Promise<string | null>
  /** Commits what is in a box, and packs what its branch has beyond the base. */
  readonly take: (box: Box, taken: TakenCode) => Promise<CodeOut>
}

/** What came of something done with a path of a box. */
export type FileAnswer<T> = ({ readonly ok: true } & T) | FileFault

/** The files of boxes, through the boxes' own eyes. All of it throws what `Box.run` does. */
export interface BoxFiles {
  /** What a folder has, by its names; `isCut` where it has more than is told. */
  readonly list: (
    box: Box,
    path: string,
    shown: { readonly hidden: boolean },
  ) => Promise<FileAnswer<{ readonly entries: readonly BoxEntry[]; readonly isCut: boolean }>>
  /** The bytes of a file that has so many at most. */
  readonly read: (
    box: Box,
    path: string,
    mostBytes: number,
  ) => Promise<FileAnswer<{ readonly bytes: Uint8Array }>>
  /** Makes a file or replaces one, which keeps its mode. */
  readonly write: (box: Box, path: string, bytes: Uint8Array) => Promise<FileAnswer<object>>
  /** Takes a file or a link away; a folder stays. */
  readonly remove: (box: Box, path: string) => Promise<FileAnswer<object>>
}
