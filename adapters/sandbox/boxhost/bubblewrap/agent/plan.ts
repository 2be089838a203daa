/** What a keeper is told by a file in its box's folder, and what it says while its box is made. */

/** Everything that a keeper does, decided by the program that launches it. */
export interface AgentPlan {
  /** Where it meets its launcher until the box runs, and where it listens afterwards. */
  readonly launch: string
  readonly socket: string
  /** A FIFO that it holds open as long as it lives: who reads from it learns when that is over. */
  readonly exit: string
  /** A folder of its own for the pipes of commands. */
  readonly pipes: string
  readonly leaseMs: number
  /** The program that makes the box, and its arguments; descriptor 3 tells of it, 4 is its first process's. */
  readonly inner: readonly string[]
  /** What is put before every program in the box, and before the box itself. */
  readonly bounds: ResourceLimits
  /** What every command finds in its environment. */
  readonly environment: Readonly<Record<string, string>>
  readonly workspace: string
  /** Networks that the box may not reach; null for a box that is to have no network. */
  readonly firewall: FirewallRules | null
  /** Looked at by the keeper itself, where nothing else holds it; null and none where something does. */
  readonly memoryBytes: number | null
  readonly folders: readonly WatchedFolder[]
  readonly most: ProcessLimits
}

/** A folder that may have so much; whatever runs in the box is ended where it has more. */
export interface WatchedFolder {
  readonly path: string
  readonly bytes: number
  readonly everyMs: number
}

/** What holds a program in its limits. */
export interface ResourceLimits {
  /** Files that a process writes its id into to be in a group. */
  readonly groups: readonly string[]
  /** What a shell does first, to lower what each process may use. */
  readonly limiting: string
}

/** How many at once, and how much is kept. */
export interface ProcessLimits {
  readonly commands: number
  readonly background: number
  readonly logBytes: number
  readonly keptProcesses: number
}

/** What the box's packets may not go to. */
export interface FirewallRules {
  /** The ways to load it that may be tried, the best first. */
  readonly by: readonly ("nft" | "ip")[]
  /** IPv4 networks. There is no way out by IPv6 at all. */
  readonly networks: readonly string[]
  readonly ports: readonly number[]
  /** The one address of the blocked networks that names are asked of. */
  readonly nameServer: string
}

/** What a keeper says to its launcher, a line each. */
export type LaunchEvent =
  | { readonly step: "firewall"; readonly by: "nft" | "ip" | null }
  | { readonly step: "ready"; readonly firstProcess: number }
  | { readonly step: "failed"; readonly why: string }

/** How a box reaches the internet. */
export type BoxNetwork = "slirp" | "pasta" | "none"

/** What the launcher answers once the keeper said how the firewall went. */
export interface LaunchReply {
  readonly network: BoxNetwork
}

/** A command, as the client asks for it. */
export interface CommandRequest {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly mostBytes: number
  /** Whether the end is kept as well as the beginning. */
  readonly endToo: boolean
  readonly activity: boolean
  /** Whether what follows is for it to read. */
  readonly reads: boolean
}

/** How a command ended; its outputs follow, one behind the other. */
export interface CommandReply {
  readonly exitCode: number
  readonly isTimedOut: boolean
  readonly stdout: { readonly bytes: number; readonly isCut: boolean }
  readonly stderr: { readonly bytes: number; readonly isCut: boolean }
}
