/** The walls of a box: the arguments of its two sandboxes, one inside the other. */
import { lstat, readdir, readlink } from "node:fs/promises"
import { join } from "node:path"
import type { FirewallRules } from "./agent/plan.ts"
import { VOLUME_PATH } from "../port.ts"
import { isNotFoundError } from "./programs.ts"
import { seccompFilter } from "./seccomp.ts"

/** Where the keeper sees things. */
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

/** Who commands are in a box, and where that one is at home. */
const BOX_USER = "worker"
const BOX_HOME = `/home/${BOX_USER}`

/** What every command finds in its environment, unless the plan says otherwise. */
export const BOX_ENVIRONMENT = {
  PATH: BOX_PATH,
  HOME: BOX_HOME,
  LANG: "C.UTF-8",
  USER: BOX_USER,
} as const

/** Folders at the root that programs are made of: links into `/usr` on most machines. */
const ROOT_FOLDERS = ["bin", "lib", "lib64", "sbin"]

/** What programs read of `/etc`; whatever else is there is the machine's own business. */
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

/** Files of `/etc` that are the box's own. */
export const BOX_ETC_FILES = {
  "resolv.conf": "nameserver 10.0.2.3\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  hosts: "127.0.0.1 localhost box\n::1 localhost\n",
  passwd:
    `root:x:0:0:root:/nonexistent:/bin/sh\n${BOX_USER}:x:1000:1000:${BOX_USER}:${BOX_HOME}:/bin/sh\n` +
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n",
  group: "root:x:0:\nworker:x:1000:\nnogroup:x:65534:\n",
} as const

/** What the outer sandbox shows. */
export interface OuterSandboxView {
  readonly node: string
  readonly program: string
  readonly folder: string
  readonly disk: string
  /** Null for one without a volume. */
  readonly volume: string | null
  /** More programs of the machine, as they were laid; null for none. */
  readonly programs: string | null
  readonly root: string | null
  readonly groups: readonly string[]
}

/** What the inner sandbox shows. */
export interface InnerSandboxView {
  readonly folder: string
  readonly hasVolume: boolean
  /** Where the more programs lie in the box; null for none. */
  readonly programsAt: string | null
  readonly root: string | null
  readonly sharedMemoryBytes: number
}

/** The walls of boxes. Tests put weaker ones in their place, to see what they keep out. */
export interface SandboxPolicy {
  readonly outerArguments: (view: OuterSandboxView) => Promise<readonly string[]>
  readonly innerArguments: (view: InnerSandboxView) => Promise<readonly string[]>
  readonly seccompFilter: (architecture: string) => Buffer | null
  readonly adjustFirewall: (firewall: FirewallRules) => FirewallRules
}

/** The arguments that show an entry of a root folder as it is there: a link, or what lies in it. */
async function bindArguments(from: string, seen: string, to: string): Promise<readonly string[]> {
  try {
    const entry = await lstat(from)
    return entry.isSymbolicLink()
      ? ["--symlink", await readlink(from), to]
      : ["--ro-bind", seen, to]
  } catch (error) {
    if (isNotFoundError(error)) return []
    throw error
  }
}

/** The machine's programs. */
async function hostProgramArguments(): Promise<readonly string[]> {
  const top = await Promise.all(
    ROOT_FOLDERS.map((name) => bindArguments(`/${name}`, `/${name}`, `/${name}`)),
  )
  return ["--ro-bind", "/usr", "/usr", ...top.flat()]
}

/** What the inner sandbox's root is made of: the machine's programs, or another root file system's. */
async function rootArguments(root: string | null): Promise<readonly string[]> {
  if (root === null) {
    const etc = SHARED_ETC_ENTRIES.flatMap((name) => [
      "--ro-bind-try",
      `/etc/${name}`,
      `/etc/${name}`,
    ])
    return [...(await hostProgramArguments()), ...etc]
  }
  const kept = new Set([
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
  const names = (await readdir(root)).filter((name) => !kept.has(name))
  const etc = (await readdir(join(root, "etc"))).filter((name) => !(name in BOX_ETC_FILES))
  const all = [...names, ...etc.map((name) => `etc/${name}`)]
  const args = await Promise.all(
    all.map((name) => bindArguments(join(root, name), join(AGENT_PATHS.root, name), `/${name}`)),
  )
  return args.flat()
}

/**
 * The outer sandbox. No second user namespace may come of it, or the network is no longer the keeper's:
 * hence uid 0 and no `--disable-userns`. It does not die with its parent: boxes outlive the program.
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
    // The inner sandbox puts its root together in /tmp.
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

/** The box itself: no capability, no way to any, and nothing of the machine but what it is given. */
async function innerArguments(view: InnerSandboxView): Promise<readonly string[]> {
  const { folder, hasVolume, programsAt, root, sharedMemoryBytes } = view
  const etc = Object.keys(BOX_ETC_FILES).flatMap((name) => [
    "--ro-bind",
    join(folder, "etc", name),
    `/etc/${name}`,
  ])
  return [
    // `--disable-userns` wants `--unshare-user` by name.
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
    // Shared memory counts as the box's: without a bound its first process would be ended for it.
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
    // The root is a file system in memory, as large as half of the machine's.
    "--remount-ro",
    "/",
  ]
}

/** The walls as they are meant to be. */
export const DEFAULT_SANDBOX_POLICY: SandboxPolicy = {
  outerArguments,
  innerArguments,
  seccompFilter: seccompFilter,
  adjustFirewall: (firewall) => firewall,
}
