/**
 * The plan that an agent reads from a file in its box's folder, and its messages during the launch.
 */

/** Everything that an agent does, decided by the program that launches it. */
export interface AgentPlan {
  /** The socket of the launcher, and the one where the agent listens afterwards. */
  readonly launch: string
  readonly socket: string
  /** A FIFO that the agent holds open while it lives, so that its readers notice its end. */
  readonly exit: string
  /** The folder for the pipes of commands. */
  readonly pipes: string
  readonly leaseMs: number
  /**
   * The command line that creates the box; descriptor 3 reports its first process, 4 that it is
   * ready.
   */
  readonly inner: readonly string[]
  /** The limits of every program in the box, and of the box itself. */
  readonly bounds: ResourceLimits
  /** Environment variables of every command. */
  readonly environment: Readonly<Record<string, string>>
  readonly workspace: string
  /** The firewall's rules; null for a box without a network. */
  readonly firewall: FirewallRules | null
  /** Memory limit that the agent enforces; null if the kernel does. `folders` likewise. */
  readonly memoryBytes: number | null
  readonly folders: readonly WatchedFolder[]
  readonly most: ProcessLimits
}

/** A folder with a size limit; all processes of the box are killed when it is exceeded. */
export interface WatchedFolder {
  readonly path: string
  readonly bytes: number
  readonly everyMs: number
}

/** How a program is held within its limits. */
export interface ResourceLimits {
  /** Files to which a process writes its id to join a control group. */
  readonly groups: readonly string[]
  /** Shell commands that lower the limits of each process. */
  readonly limiting: string
}

/** Limits on concurrent commands and kept output. */
export interface ProcessLimits {
  readonly commands: number
  readonly background: number
  readonly logBytes: number
  readonly keptProcesses: number
}

/** The destinations that the box's packets must not reach. */
export interface FirewallRules {
  /** Ways to load the firewall, best first. */
  readonly by: readonly ("nft" | "ip")[]
  /** IPv4 networks. There is no way out by IPv6 at all. */
  readonly networks: readonly string[]
  readonly ports: readonly number[]
  /** The only allowed address of the blocked networks: the name server. */
  readonly nameServer: string
}

/** The agent's messages to its launcher, one per line. */
export type LaunchEvent =
  | { readonly step: "firewall"; readonly by: "nft" | "ip" | null }
  | { readonly step: "ready"; readonly firstProcess: number }
  | { readonly step: "failed"; readonly why: string }

/** How a box reaches the internet. */
export type BoxNetwork = "slirp" | "pasta" | "none"

/** The launcher's answer after the firewall was loaded. */
export interface LaunchReply {
  readonly network: BoxNetwork
}

/** A client's request to run a command. */
export interface CommandRequest {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly mostBytes: number
  /** Whether the end of outputs is kept in addition to the beginning. */
  readonly endToo: boolean
  readonly activity: boolean
  /** Whether an input for the command follows. */
  readonly reads: boolean
}

/** How a command ended; its outputs follow, one after the other. */
export interface CommandReply {
  readonly exitCode: number
  readonly isTimedOut: boolean
  readonly stdout: { readonly bytes: number; readonly isCut: boolean }
  readonly stderr: { readonly bytes: number; readonly isCut: boolean }
}
