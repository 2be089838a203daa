/** What lies in a box's folder before its keeper begins: pipes, files of its own, and what it is to do. */
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

/** The keeper's own threads and programs count among its user's. */
const AGENT_PROCESSES = 32
/** So many pipes lie ready for the first commands. */
const INITIAL_PIPES = 8

const DISK_CHECK_INTERVAL_MS = 5_000
const FOLDER_CHECK_INTERVAL_MS = 30_000

/** The box's first process: nothing in the box can end it, and it reaps what others leave. */
const INIT_SCRIPT = "echo up >&4; exec 4>&-; while :; do sleep 2147483647 & wait $!; done"

/** What a box is to be, and where. */
export interface BoxPreparation {
  readonly context: BubblewrapContext
  readonly plan: BoxPlan
  readonly limits: SandboxLimits
  readonly paths: BoxPaths
}

/** The pipe that tells of the keeper's end, and those of the first commands. */
export async function makePipes(
  { exitPipe, folder, pipesFolder }: BoxPaths,
  uid: number | null,
): Promise<void> {
  await mkdir(pipesFolder, { mode: 0o700 })
  if (uid !== null) await chown(pipesFolder, uid, uid)
  const first = Array.from({ length: INITIAL_PIPES }, (_, index) =>
    join(pipesFolder, `first-${index}`),
  )
  const whose = uid === null ? {} : { uid, gid: uid }
  await runProgram("mkfifo", ["-m", "600", exitPipe, ...first], { cwd: folder, ...whose })
}

/** What of a box is there before its keeper. */
interface PreparedResources {
  readonly disk: DiskKind
  /** Null for one without a volume. */
  readonly volume: DiskKind | null
  readonly groups: BoxControlGroups
  readonly uid: number | null
}

/** What the keeper looks at, for nothing else holds it. */
function watchedFolders(
  { disk, volume }: Pick<PreparedResources, "disk" | "volume">,
  plan: BoxPlan,
  limits: SandboxLimits,
): AgentPlan["folders"] {
  const own = { path: AGENT_PATHS.disk, bytes: limits.diskBytes, everyMs: DISK_CHECK_INTERVAL_MS }
  const kept = {
    path: AGENT_PATHS.volume,
    bytes: plan.volume?.bytes ?? 0,
    everyMs: DISK_CHECK_INTERVAL_MS,
  }
  const parts = Object.entries(plan.volume?.folderLimits ?? {}).map(([name, bytes]) => {
    return { path: join(AGENT_PATHS.volume, name), bytes, everyMs: FOLDER_CHECK_INTERVAL_MS }
  })
  return [...(disk === "folder" ? [own] : []), ...(volume === "folder" ? [kept] : []), ...parts]
}

/** What the sandbox and the keeper read. */
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
  const keeperPlan: AgentPlan = {
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
  await writeFile(path, JSON.stringify(keeperPlan), { mode: 0o600 })
  if (uid !== null) await chown(path, uid, uid)
}

/**
 * What each process may use at most, no more than this program itself may; as the shell's own commands,
 * for one more program before each command would be felt.
 */
async function limitCommands(
  { controlGroups }: BubblewrapContext,
  limits: SandboxLimits,
): Promise<string> {
  const own = await readFile("/proc/self/limits", "utf8")
  const most = (name: string, wanted: number): number => {
    const hard = new RegExp(`^${name} +\\S+ +(\\S+)`, "m").exec(own)?.[1]
    return Math.min(wanted, hard === undefined || hard === "unlimited" ? wanted : Number(hard))
  }
  const processes = most("Max processes", limits.processes + AGENT_PROCESSES)
  const data = Math.floor(most("Max data size", limits.memoryBytes) / 1_024)
  return [
    `ulimit -c 0 && ulimit -n ${most("Max open files", limits.openFiles)} &&`,
    `ulimit -f ${Math.floor(most("Max file size", limits.fileBytes) / 512)} &&`,
    // Shells do not agree on the letter.
    `{ ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}; } || exit 125;`,
    ...(controlGroups.controllers.has("memory") ? [] : [`ulimit -d ${data} || exit 125;`]),
    ...(controlGroups.controllers.has("cpu") ? [] : ["renice -n 10 $$ >/dev/null;"]),
  ].join(" ")
}
