/** What lies in a box's folder before its keeper begins: pipes, files of its own, and what it is to do. */
import { chown, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type BoxPlan, WORKSPACE } from "../port.ts"
import type { DiskKind } from "./disk.ts"
import type { BoxGroups, SizeLimits } from "./groups.ts"
import { MOST } from "./groups.ts"
import type { KeeperPlan } from "./keeper/plan.ts"
import { firewall, hasWayOut } from "./network.ts"
import { program } from "./program.ts"
import type { BoxPlaces } from "./run-folder.ts"
import type { Machine } from "./settings.ts"
import { ENVIRONMENT, OWN_ETC, SEEN } from "./shape.ts"

/** The keeper's own threads and programs count among its user's. */
const OWN_PROCESSES = 32
/** So many pipes lie ready for the first commands. */
const FIRST_PIPES = 8

const DISK_EVERY_MS = 5_000
const PARTS_EVERY_MS = 30_000

/** The box's first process: nothing in the box can end it, and it reaps what others leave. */
const FIRST_PROCESS = "echo up >&4; exec 4>&-; while :; do sleep 2147483647 & wait $!; done"

/** What a box is to be, and where. */
export interface Prepared {
  readonly machine: Machine
  readonly plan: BoxPlan
  readonly limits: SizeLimits
  readonly places: BoxPlaces
}

/** The pipe that tells of the keeper's end, and those of the first commands. */
export async function makePipes(
  { exit, folder, pipes }: BoxPlaces,
  uid: number | null,
): Promise<void> {
  await mkdir(pipes, { mode: 0o700 })
  if (uid !== null) await chown(pipes, uid, uid)
  const first = Array.from({ length: FIRST_PIPES }, (_, index) => join(pipes, `first-${index}`))
  const whose = uid === null ? {} : { uid, gid: uid }
  await program("mkfifo", ["-m", "600", exit, ...first], { cwd: folder, ...whose })
}

/** What of a box is there before its keeper. */
interface Made {
  readonly disk: DiskKind
  /** Null for one without a volume. */
  readonly volume: DiskKind | null
  readonly groups: BoxGroups
  readonly uid: number | null
}

/** What the keeper looks at, for nothing else holds it. */
function watched(
  { disk, volume }: Pick<Made, "disk" | "volume">,
  plan: BoxPlan,
  limits: SizeLimits,
): KeeperPlan["folders"] {
  const own = { path: SEEN.disk, bytes: limits.diskBytes, everyMs: DISK_EVERY_MS }
  const kept = { path: SEEN.volume, bytes: plan.volume?.bytes ?? 0, everyMs: DISK_EVERY_MS }
  const parts = Object.entries(plan.volume?.parts ?? {}).map(([name, bytes]) => {
    return { path: join(SEEN.volume, name), bytes, everyMs: PARTS_EVERY_MS }
  })
  return [...(disk === "folder" ? [own] : []), ...(volume === "folder" ? [kept] : []), ...parts]
}

/** What the sandbox and the keeper read. */
export async function writeFiles(
  { limits, machine, places, plan }: Prepared,
  { disk, groups, uid, volume }: Made,
): Promise<void> {
  await mkdir(join(places.folder, "etc"), { mode: 0o755 })
  for (const [name, content] of Object.entries(OWN_ETC)) {
    await writeFile(join(places.folder, "etc", name), content, { mode: 0o644 })
  }
  const { holds } = machine.groups
  const root = machine.options.root ?? null
  const inner = await machine.shape.inner({
    folder: places.folder,
    root,
    sharedMemoryBytes: limits.sharedMemoryBytes,
    hasVolume: plan.volume !== undefined,
    programsAt: plan.programs?.at ?? null,
  })
  const first = ["--chdir", WORKSPACE, "--info-fd", "3", "sh", "-c", FIRST_PROCESS]
  const keeperPlan: KeeperPlan = {
    launch: places.launch,
    socket: places.socket,
    exit: places.exit,
    pipes: places.pipes,
    leaseMs: plan.leaseMs,
    workspace: WORKSPACE,
    inner: ["bwrap", ...inner, ...first],
    bounds: { groups: groups.commands, limiting: await limitingBy(machine, limits) },
    environment: { ...ENVIRONMENT, ...plan.environment },
    firewall: hasWayOut(machine, plan) ? machine.shape.firewall(await firewall(machine)) : null,
    memoryBytes: holds.has("memory") ? null : limits.memoryBytes,
    folders: watched({ disk, volume }, plan, limits),
    most: MOST,
  }
  const path = join(places.folder, "plan.json")
  await writeFile(path, JSON.stringify(keeperPlan), { mode: 0o600 })
  if (uid !== null) await chown(path, uid, uid)
}

/**
 * What each process may use at most, no more than this program itself may; as the shell's own commands,
 * for one more program before each command would be felt.
 */
async function limitingBy({ groups }: Machine, limits: SizeLimits): Promise<string> {
  const own = await readFile("/proc/self/limits", "utf8")
  const most = (name: string, wanted: number): number => {
    const hard = new RegExp(`^${name} +\\S+ +(\\S+)`, "m").exec(own)?.[1]
    return Math.min(wanted, hard === undefined || hard === "unlimited" ? wanted : Number(hard))
  }
  const processes = most("Max processes", limits.processes + OWN_PROCESSES)
  const data = Math.floor(most("Max data size", limits.memoryBytes) / 1_024)
  return [
    `ulimit -c 0 && ulimit -n ${most("Max open files", limits.openFiles)} &&`,
    `ulimit -f ${Math.floor(most("Max file size", limits.fileBytes) / 512)} &&`,
    // Shells do not agree on the letter.
    `{ ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}; } || exit 125;`,
    ...(groups.holds.has("memory") ? [] : [`ulimit -d ${data} || exit 125;`]),
    ...(groups.holds.has("cpu") ? [] : ["renice -n 10 $$ >/dev/null;"]),
  ].join(" ")
}
