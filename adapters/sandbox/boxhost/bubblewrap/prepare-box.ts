/** Prepares a box's folder before its agent starts: pipes, files, and the agent's plan. */
import { chown, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type BoxPlan, WORKSPACE } from "../port.ts"
import type { DiskKind } from "./disk.ts"
import type { BoxControlGroups, SandboxLimits } from "./control-groups.ts"
import { PROCESS_LIMITS } from "./control-groups.ts"
import type { AgentPlan } from "./agent/plan.ts"
import { buildFirewallRules, hasNetwork } from "./network.ts"
import { runProgram } from "./programs.ts"
import type { BoxPaths } from "./run-folder.ts"
import type { BubblewrapContext } from "./options.ts"
import { BOX_ENVIRONMENT, BOX_ETC_FILES, AGENT_PATHS } from "./sandbox-policy.ts"

/** The agent's own threads and programs count as its user's processes. */
const AGENT_PROCESSES = 32
/** Pipes that exist before the first command. */
const INITIAL_PIPES = 8

const DISK_CHECK_INTERVAL_MS = 5_000
const FOLDER_CHECK_INTERVAL_MS = 30_000

/** The box's first process: the box cannot kill it, and it reaps orphans. */
const INIT_SCRIPT = "echo up >&4; exec 4>&-; while :; do sleep 2147483647 & wait $!; done"

export interface BoxPreparation {
  readonly context: BubblewrapContext
  readonly plan: BoxPlan
  readonly limits: SandboxLimits
  readonly paths: BoxPaths
}

/** Creates the pipe that reports the agent's end, and those of the first commands. */
export async function makePipes(
  { exitPipe, folder, pipesFolder }: BoxPaths,
  uid: number | null,
): Promise<void> {
  await mkdir(pipesFolder, { mode: 0o700 })
  if (uid !== null) await chown(pipesFolder, uid, uid)
  const first = Array.from({ length: INITIAL_PIPES }, (_, index) =>
    join(pipesFolder, `first-${index}`),
  )
  const owner = uid === null ? {} : { uid, gid: uid }
  await runProgram("mkfifo", ["-m", "600", exitPipe, ...first], { cwd: folder, ...owner })
}

/** The resources of a box that exist before its agent. */
interface PreparedResources {
  readonly disk: DiskKind
  /** Null for a box without a volume. */
  readonly volume: DiskKind | null
  readonly groups: BoxControlGroups
  readonly uid: number | null
}

/** The folders that the agent has to watch, because nothing else limits them. */
function watchedFolders(
  { disk, volume }: Pick<PreparedResources, "disk" | "volume">,
  plan: BoxPlan,
  limits: SandboxLimits,
): AgentPlan["folders"] {
  const diskFolder = {
    path: AGENT_PATHS.disk,
    bytes: limits.diskBytes,
    everyMs: DISK_CHECK_INTERVAL_MS,
  }
  const volumeFolder = {
    path: AGENT_PATHS.volume,
    bytes: plan.volume?.bytes ?? 0,
    everyMs: DISK_CHECK_INTERVAL_MS,
  }
  const limitedFolders = Object.entries(plan.volume?.folderLimits ?? {}).map(([name, bytes]) => {
    return { path: join(AGENT_PATHS.volume, name), bytes, everyMs: FOLDER_CHECK_INTERVAL_MS }
  })
  return [
    ...(disk === "folder" ? [diskFolder] : []),
    ...(volume === "folder" ? [volumeFolder] : []),
    ...limitedFolders,
  ]
}

/** Writes the files that the sandbox and the agent read. */
export async function writeAgentFiles(
  { limits, context, paths, plan }: BoxPreparation,
  { disk, groups, uid, volume }: PreparedResources,
): Promise<void> {
  await mkdir(join(paths.folder, "etc"), { mode: 0o755 })
  for (const [name, content] of Object.entries(BOX_ETC_FILES)) {
    await writeFile(join(paths.folder, "etc", name), content, { mode: 0o644 })
  }
  const { controllers } = context.controlGroups
  const root = context.options.rootFileSystem ?? null
  const inner = await context.policy.innerArguments({
    folder: paths.folder,
    root,
    sharedMemoryBytes: limits.sharedMemoryBytes,
    hasVolume: plan.volume !== undefined,
    programsAt: plan.programs?.sandboxPath ?? null,
  })
  const first = ["--chdir", WORKSPACE, "--info-fd", "3", "sh", "-c", INIT_SCRIPT]
  const agentPlan: AgentPlan = {
    launch: paths.launchSocket,
    socket: paths.agentSocket,
    exit: paths.exitPipe,
    pipes: paths.pipesFolder,
    leaseMs: plan.leaseMs,
    workspace: WORKSPACE,
    inner: ["bwrap", ...inner, ...first],
    bounds: { groups: groups.commandProcsFiles, limiting: await limitCommands(context, limits) },
    environment: { ...BOX_ENVIRONMENT, ...plan.environment },
    firewall: hasNetwork(context, plan)
      ? context.policy.adjustFirewall(await buildFirewallRules(context))
      : null,
    memoryBytes: controllers.has("memory") ? null : limits.memoryBytes,
    folders: watchedFolders({ disk, volume }, plan, limits),
    most: PROCESS_LIMITS,
  }
  const path = join(paths.folder, "plan.json")
  await writeFile(path, JSON.stringify(agentPlan), { mode: 0o600 })
  if (uid !== null) await chown(path, uid, uid)
}

/**
 * The limits of each process, at most this program's own. They are shell builtins, because another
 * program before each command would slow it down noticeably.
 */
async function limitCommands(
  { controlGroups }: BubblewrapContext,
  limits: SandboxLimits,
): Promise<string> {
  const ownLimits = await readFile("/proc/self/limits", "utf8")
  const capped = (name: string, limit: number): number => {
    const hard = new RegExp(`^${name} +\\S+ +(\\S+)`, "m").exec(ownLimits)?.[1]
    return Math.min(limit, hard === undefined || hard === "unlimited" ? limit : Number(hard))
  }
  const processes = capped("Max processes", limits.processes + AGENT_PROCESSES)
  const data = Math.floor(capped("Max data size", limits.memoryBytes) / 1_024)
  return [
    `ulimit -c 0 && ulimit -n ${capped("Max open files", limits.openFiles)} &&`,
    `ulimit -f ${Math.floor(capped("Max file size", limits.fileBytes) / 512)} &&`,
    // Shells use different letters.
    `{ ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}; } || exit 125;`,
    ...(controlGroups.controllers.has("memory") ? [] : [`ulimit -d ${data} || exit 125;`]),
    ...(controlGroups.controllers.has("cpu") ? [] : ["renice -n 10 $$ >/dev/null;"]),
  ].join(" ")
}
