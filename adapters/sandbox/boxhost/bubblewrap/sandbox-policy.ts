/** The sandbox policy of a box: the arguments of its two nested sandboxes. */
import { lstat, readdir, readlink } from "node:fs/promises"
import { join } from "node:path"
import type { FirewallRules } from "./agent/plan.ts"
import { VOLUME_PATH } from "../port.ts"
import { isNotFoundError } from "./programs.ts"
import { seccompFilter } from "./seccomp.ts"

export const AGENT_PATHS = {
  node: "/keeper/node",
  program: "/keeper/src",
  disk: "/disk",
  root: "/keeper/root",
  volume: "/volume",
  programs: "/keeper/programs",
} as const

/** Where commands find programs; the product's Node comes first. */
const NODE_FOLDER = "/opt/node/bin"
const BOX_PATH = `${NODE_FOLDER}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`

/** The user of commands in a box, and its home. */
const BOX_USER = "worker"
const BOX_HOME = `/home/${BOX_USER}`

/** Default environment variables of every command. */
export const BOX_ENVIRONMENT = {
  PATH: BOX_PATH,
  HOME: BOX_HOME,
  LANG: "C.UTF-8",
  USER: BOX_USER,
} as const

/** Root folders with programs: links to `/usr` on most machines. */
const ROOT_FOLDERS = ["bin", "lib", "lib64", "sbin"]

/** The entries of `/etc` that programs need; the others stay private to the machine. */
const SHARED_ETC_ENTRIES = [
  "ssl",
  "pki",
  "ca-certificates",
  "alternatives",
  "ld.so.cache",
  "services",
  "protocols",
  "localtime",
  "python3",
  "os-release",
  "debian_version",
  "mime.types",
]

/** Files of `/etc` that each box has for itself. */
export const BOX_ETC_FILES = {
  "resolv.conf": "nameserver 10.0.2.3\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  hosts: "127.0.0.1 localhost box\n::1 localhost\n",
  passwd:
    `root:x:0:0:root:/nonexistent:/bin/sh\n${BOX_USER}:x:1000:1000:${BOX_USER}:${BOX_HOME}:/bin/sh\n` +
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n",
  group: "root:x:0:\nworker:x:1000:\nnogroup:x:65534:\n",
} as const

export interface OuterSandboxView {
  readonly node: string
  readonly program: string
  readonly folder: string
  readonly disk: string
  /** Null for a box without a volume. */
  readonly volume: string | null
  /** Additional programs of the machine, as installed; null for none. */
  readonly programs: string | null
  readonly root: string | null
  readonly groups: readonly string[]
}

export interface InnerSandboxView {
  readonly folder: string
  readonly hasVolume: boolean
  /** Where the additional programs are in the box; null for none. */
  readonly programsAt: string | null
  readonly root: string | null
  readonly sharedMemoryBytes: number
}

/** The policy of boxes. Tests use weaker ones to show what it prevents. */
export interface SandboxPolicy {
  readonly outerArguments: (view: OuterSandboxView) => Promise<readonly string[]>
  readonly innerArguments: (view: InnerSandboxView) => Promise<readonly string[]>
  readonly seccompFilter: (architecture: string) => Buffer | null
  readonly adjustFirewall: (firewall: FirewallRules) => FirewallRules
}

/** The arguments that show an entry of a root folder: as a link, or as a mount. */
async function bindArguments(from: string, source: string, to: string): Promise<readonly string[]> {
  try {
    const entry = await lstat(from)
    return entry.isSymbolicLink()
      ? ["--symlink", await readlink(from), to]
      : ["--ro-bind", source, to]
  } catch (error) {
    if (isNotFoundError(error)) return []
    throw error
  }
}

/** The arguments for the machine's programs. */
async function hostProgramArguments(): Promise<readonly string[]> {
  const top = await Promise.all(
    ROOT_FOLDERS.map((name) => bindArguments(`/${name}`, `/${name}`, `/${name}`)),
  )
  return ["--ro-bind", "/usr", "/usr", ...top.flat()]
}

/**
 * The arguments for the inner sandbox's root: the machine's programs, or another root file system.
 */
async function rootArguments(root: string | null): Promise<readonly string[]> {
  if (root === null) {
    const etc = SHARED_ETC_ENTRIES.flatMap((name) => [
      "--ro-bind-try",
      `/etc/${name}`,
      `/etc/${name}`,
    ])
    return [...(await hostProgramArguments()), ...etc]
  }
  const excluded = new Set([
    "proc",
    "dev",
    "sys",
    "tmp",
    "run",
    "home",
    "workspace",
    "etc",
    "mnt",
    "data",
  ])
  const names = (await readdir(root)).filter((name) => !excluded.has(name))
  const etc = (await readdir(join(root, "etc"))).filter((name) => !(name in BOX_ETC_FILES))
  const all = [...names, ...etc.map((name) => `etc/${name}`)]
  const args = await Promise.all(
    all.map((name) => bindArguments(join(root, name), join(AGENT_PATHS.root, name), `/${name}`)),
  )
  return args.flat()
}

/**
 * The outer sandbox. It must not create a second user namespace, or the agent would lose control of
 * the network: hence uid 0 and no `--disable-userns`. It does not die with its parent, because
 * boxes outlive the program.
 */
async function outerArguments(view: OuterSandboxView): Promise<readonly string[]> {
  const { disk, folder, groups, node, program, programs, root, volume } = view
  const etc =
    root === null
      ? SHARED_ETC_ENTRIES.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`])
      : ["--ro-bind", root, AGENT_PATHS.root]
  return [
    "--unshare-user",
    "--uid",
    "0",
    "--gid",
    "0",
    "--unshare-net",
    "--cap-add",
    "ALL",
    "--new-session",
    ...(await hostProgramArguments()),
    ...etc,
    // The inner sandbox builds its root in /tmp.
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--dir",
    "/tmp",
    "--ro-bind",
    node,
    AGENT_PATHS.node,
    "--ro-bind",
    program,
    AGENT_PATHS.program,
    "--bind",
    folder,
    folder,
    "--bind",
    disk,
    AGENT_PATHS.disk,
    ...(volume === null ? [] : ["--bind", volume, AGENT_PATHS.volume]),
    ...(programs === null ? [] : ["--ro-bind", programs, AGENT_PATHS.programs]),
    ...groups.flatMap((group) => ["--bind", group, group]),
  ]
}

/**
 * The box itself: no capabilities, no way to get any, and nothing of the machine except what it is
 * given.
 */
async function innerArguments(view: InnerSandboxView): Promise<readonly string[]> {
  const { folder, hasVolume, programsAt, root, sharedMemoryBytes } = view
  const etc = Object.keys(BOX_ETC_FILES).flatMap((name) => [
    "--ro-bind",
    join(folder, "etc", name),
    `/etc/${name}`,
  ])
  return [
    // `--disable-userns` requires an explicit `--unshare-user`.
    "--unshare-user",
    "--unshare-all",
    "--share-net",
    "--uid",
    "1000",
    "--gid",
    "1000",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--as-pid-1",
    "--hostname",
    "box",
    "--clearenv",
    "--setenv",
    "PATH",
    BOX_PATH,
    ...(await rootArguments(root)),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    // Shared memory counts as the box's memory; without a limit its first process would be killed
    // for it.
    "--size",
    String(sharedMemoryBytes),
    "--tmpfs",
    "/dev/shm",
    "--remount-ro",
    "/dev",
    "--bind",
    `${AGENT_PATHS.disk}/tmp`,
    "/tmp",
    "--bind",
    `${AGENT_PATHS.disk}/workspace`,
    "/workspace",
    "--bind",
    `${AGENT_PATHS.disk}/home`,
    BOX_HOME,
    ...(hasVolume ? ["--bind", AGENT_PATHS.volume, VOLUME_PATH] : []),
    ...(programsAt === null ? [] : ["--ro-bind", AGENT_PATHS.programs, programsAt]),
    "--ro-bind",
    AGENT_PATHS.node,
    `${NODE_FOLDER}/node`,
    ...etc,
    // The root is an in-memory file system that could grow to half of the machine's memory.
    "--remount-ro",
    "/",
  ]
}

/** The default policy. */
export const DEFAULT_SANDBOX_POLICY: SandboxPolicy = {
  outerArguments,
  innerArguments,
  seccompFilter,
  adjustFirewall: (firewall) => firewall,
}
