/** How boxes are made on this machine, as it is set; and what is found of it once. */
import type { Pacer } from "../../../machine/clock/port.ts"
import type { ControlGroups } from "./control-groups.ts"
import type { AgentProgram } from "./programs.ts"
import type { RunFolder } from "./run-folder.ts"
import type { SandboxPolicy } from "./sandbox-policy.ts"

/** What tests pretend that the machine lacks. */
export type HostCapability =
  "bwrap" | "slirp4netns" | "pasta" | "nft" | "ip" | "groups" | "images" | "seccomp"

/** How boxes are made. */
export interface BubblewrapOptions {
  /**
   * A short path on a disk with room for the files of boxes. All programs of an installation on this
   * machine share it.
   */
  readonly runDir: string
  /**
   * IPv4 addresses and networks that no box may reach, beside all private ones and this machine's; asked
   * for each box.
   */
  readonly blockedNetworks: () => Promise<readonly string[]>
  readonly pacer: Pacer
  /** An unpacked root file system that boxes see in the place of this machine's programs. */
  readonly rootFileSystem?: string
  /**
   * As root each box is a user of its own: this one, and those after it. They must be nobody else's:
   * whatever runs as one of them is ended with its box. Default: from 2,000,000 on, by the run folder.
   */
  readonly firstUid?: number
  /** Default 100. */
  readonly maxBoxes?: number
  /** For tests: what to do without. */
  readonly disabledCapabilities?: readonly HostCapability[]
}

/** The machine as it was found, and how boxes are to be made on it. */
export interface BubblewrapContext {
  readonly options: BubblewrapOptions
  readonly pacer: Pacer
  readonly runFolder: RunFolder
  readonly controlGroups: ControlGroups
  readonly installAgent: () => Promise<AgentProgram>
  /** Where programs of the machine lie that boxes can read; they are laid there once. */
  readonly installPrograms: (from: string) => Promise<string>
  readonly policy: SandboxPolicy
  /** Whether boxes are users of their own. */
  readonly isRoot: boolean
  readonly isDisabled: (part: HostCapability) => boolean
}

/** No box can be made here, or not now, for a reason that the message says. */
export class LaunchFailed extends Error {
  override readonly name = "LaunchFailed"
}
