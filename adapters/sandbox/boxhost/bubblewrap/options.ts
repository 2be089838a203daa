/** The options of boxes on this machine, and the context that is determined once. */
import type { Pacer } from "../../../machine/clock/port.ts"
import type { ControlGroups } from "./control-groups.ts"
import type { AgentProgram } from "./programs.ts"
import type { RunFolder } from "./run-folder.ts"
import type { SandboxPolicy } from "./sandbox-policy.ts"

/** Capabilities that tests can disable. */
export type HostCapability =
  "bwrap" | "slirp4netns" | "pasta" | "nft" | "ip" | "groups" | "images" | "seccomp"

export interface BubblewrapOptions {
  /**
   * A short path on a disk with room for the files of boxes, shared by all programs of an
   * installation on this machine.
   */
  readonly runDir: string
  /**
   * IPv4 addresses and networks that no box may reach, in addition to private ones and this
   * machine's; read for each box.
   */
  readonly blockedNetworks: () => Promise<readonly string[]>
  readonly pacer: Pacer
  /** An unpacked root file system that boxes use instead of this machine's programs. */
  readonly rootFileSystem?: string
  /**
   * The first user id of boxes, if this program runs as root. These ids must be unused: all
   * processes of a box's user are killed with the box. Default: from 2,000,000 on, by the run
   * folder.
   */
  readonly firstUid?: number
  /** Default 100. */
  readonly maxBoxes?: number
  /** For tests: disabled capabilities. */
  readonly disabledCapabilities?: readonly HostCapability[]
}

/** The machine's properties and how boxes are created on it. */
export interface BubblewrapContext {
  readonly options: BubblewrapOptions
  readonly pacer: Pacer
  readonly runFolder: RunFolder
  readonly controlGroups: ControlGroups
  readonly installAgent: () => Promise<AgentProgram>
  /** Copies programs of the machine to a folder that boxes can read, once. */
  readonly installPrograms: (from: string) => Promise<string>
  readonly policy: SandboxPolicy
  /** Whether each box has its own user. */
  readonly isRoot: boolean
  readonly isDisabled: (part: HostCapability) => boolean
}

/** A box cannot be launched; the message says why. */
export class LaunchFailed extends Error {
  override readonly name = "LaunchFailed"
}
