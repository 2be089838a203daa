/** Launching a box: its record, its disk, its limits, its walls, its keeper, its way out; in this order. */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import type { FileHandle } from "node:fs/promises"
import { chown, mkdir, open, writeFile, chmod } from "node:fs/promises"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { z } from "zod"
import type { BoxPlan } from "../port.ts"
import type { DiskKind } from "./disk.ts"
import { detachDisk, makeDisk } from "./disk.ts"
import type { BoxControlGroups } from "./control-groups.ts"
import { SANDBOX_LIMITS } from "./control-groups.ts"
import type { LaunchReply } from "./agent/plan.ts"
import type { AttachedNetwork } from "./network.ts"
import { attachNetwork, hasNetwork, attachNoNetwork, makeTunDevice } from "./network.ts"
import type { BoxPreparation } from "./prepare-box.ts"
import { makePipes, writeAgentFiles } from "./prepare-box.ts"
import type { ProcessReference } from "./programs.ts"
import { killProcess, identifyProcess } from "./programs.ts"
import type { BoxPaths, BoxRecord } from "./run-folder.ts"
import type { BubblewrapContext } from "./options.ts"
import { LaunchFailed } from "./options.ts"
import { AGENT_PATHS } from "./sandbox-policy.ts"
import { detachVolume, makeVolume, volumePath } from "./volume.ts"
import { once } from "node:events"
import type { Socket } from "node:net"
import { createServer } from "node:net"
import { createInterface } from "node:readline"

/** Of what a keeper says nothing is believed but its form. */
const launchEventSchema = z.discriminatedUnion("step", [
  z.strictObject({ step: z.literal("firewall"), by: z.enum(["nft", "ip"]).nullable() }),
  z.strictObject({ step: z.literal("ready"), firstProcess: z.int().positive() }),
  z.strictObject({ step: z.literal("failed"), why: z.string().max(10_000) }),
])

type ReceivedLaunchEvent = z.infer<typeof launchEventSchema>

/** A keeper that is expected. */
interface AgentListener {
  readonly connected: Promise<Socket>
  readonly close: () => void
}

const LAUNCH_TIMEOUT_MS = 60_000

/** How a box turned out. */
export interface LaunchedBox {
  readonly disk: DiskKind
  readonly firewall: "nft" | "ip" | null
  readonly network: AttachedNetwork["network"]
}

/** A launch under way. */
interface LaunchState extends BoxPreparation {
  readonly name: string
  readonly log: FileHandle
  /** Stores what is known by now. */
  readonly updateRecord: (more: Partial<BoxRecord>) => Promise<BoxRecord>
}

/**
 * Launches a box that this program has claimed. Whatever it throws, the box is to be ended.
 *
 * @param name what its record and its folder are called
 * @throws LaunchFailed with what the machine said
 */
export async function launchBox(
  machine: BubblewrapContext,
  plan: BoxPlan,
  { name, record }: { readonly name: string; readonly record: BoxRecord },
): Promise<LaunchedBox> {
  const { runFolder } = machine
  const places = runFolder.pathsOf(name)
  let noted = record
  let isOver = false
  const note: LaunchState["updateRecord"] = async (more) => {
    // A launch that was given up may still go on for a moment; the box is no longer its own.
    if (isOver) throw new LaunchFailed("the launch was given up")
    noted = { ...noted, ...more }
    await runFolder.write(name, noted)
    return noted
  }
  const log = await open(places.log, "a", 0o600)
  try {
    const launching = {
      context: machine,
      plan,
      name,
      paths: places,
      log,
      updateRecord: note,
      limits: SANDBOX_LIMITS[plan.size],
    }
    return await runLaunchSteps(launching, record.uid)
  } finally {
    isOver = true
    await log.close()
  }
}

async function runLaunchSteps(launching: LaunchState, uid: number | null): Promise<LaunchedBox> {
  const { limits, context, name, updateRecord, paths, plan } = launching
  await mkdir(paths.folder, { mode: 0o700 })
  if (uid !== null) await chown(paths.folder, uid, uid)
  const [disk, volume, groups, tun, listener] = await settleAll([
    makeDisk(context, paths, { bytes: limits.diskBytes, uid }),
    prepareVolume(context, paths, { plan, uid }),
    context.controlGroups.create(name, limits, uid),
    makeTunDevice(`${paths.diskImage}.tun`, uid),
    listenForAgent(paths.launchSocket),
    makePipes(paths, uid),
  ])
  try {
    await updateRecord({ groups: [...groups.folders] })
    await writeAgentFiles(launching, { disk, groups, uid, volume })
    const { child, failure } = await spawnOuterSandbox(launching, { groups, uid, volume })
    const result = await withLaunchTimeout(context, failure, async () => {
      const agent = await findAgentProcess(child)
      await updateRecord({
        processes: [...(await identifyIfRunning(child.pid)), agent],
        keeper: agent,
      })
      if (groups.agentProcsFile !== null) await writeFile(groups.agentProcsFile, String(agent.pid))
      return completeLaunch(launching, { agent, listener, uid, tun, disk, volume })
    })
    await updateRecord({ isReady: true })
    return { disk, ...result }
  } finally {
    listener.close()
  }
}

async function prepareVolume(
  machine: BubblewrapContext,
  places: BoxPaths,
  { plan, uid }: { readonly plan: BoxPlan; readonly uid: number | null },
): Promise<DiskKind | null> {
  return plan.volume === undefined ? null : makeVolume(machine, places, { ...plan.volume, uid })
}

/** What several come to, once all of them have come to something: none goes on alone. */
async function settleAll<T extends readonly unknown[] | []>(
  parts: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(parts)
  return Promise.all(parts)
}

/** The outer sandbox. */
interface OuterSandbox {
  readonly child: ChildProcess
  /** Rejected when it ends, also much later. */
  readonly failure: Promise<never>
}

/** Starts the outer sandbox with the keeper in it. @throws LaunchFailed where there is no such program */
async function spawnOuterSandbox(
  { log, context, paths, plan }: LaunchState,
  {
    groups,
    uid,
    volume,
  }: { groups: BoxControlGroups; uid: number | null; volume: DiskKind | null },
): Promise<OuterSandbox> {
  const laid = await context.installAgent()
  const root = context.options.rootFileSystem ?? null
  const view = { node: laid.nodePath, program: laid.folder, root, groups: groups.visibleFolders }
  const { disk, folder } = paths
  const volumeAt = volume === null ? null : volumePath(paths, plan, volume)
  const programs =
    plan.programs === undefined ? null : await context.installPrograms(plan.programs.hostPath)
  const walls = await context.policy.outerArguments({
    ...view,
    folder,
    disk,
    volume: volumeAt,
    programs,
  })
  const filter = context.isDisabled("seccomp") ? null : context.policy.seccompFilter(process.arch)
  const filterFile =
    filter === null ? null : await writeAndOpen(join(paths.folder, "calls"), filter)
  const agent = [AGENT_PATHS.node, "--max-old-space-size=64", join(AGENT_PATHS.program, "agent.js")]
  const filtered = filter === null ? [] : ["--seccomp", "3"]
  const args = [...walls, ...filtered, "--info-fd", "4", ...agent]
  const bwrap = context.isDisabled("bwrap")
    ? join(context.runFolder.path, "no-bwrap-here")
    : "bwrap"
  const child = spawn(bwrap, [...args, join(paths.folder, "plan.json")], {
    detached: true,
    cwd: "/",
    env: { PATH: process.env["PATH"] ?? "" },
    stdio: ["ignore", log.fd, log.fd, filterFile?.fd ?? "ignore", "pipe"],
    ...(uid === null ? {} : { uid, gid: uid }),
  })
  // At once: a program that is not there says so at the next moment.
  const failure = new Promise<never>((_, reject) => {
    child.once("error", (error) => reject(new LaunchFailed(`bwrap: ${error.message}`)))
    child.once("exit", (code) => {
      reject(new LaunchFailed(`the sandbox ended as it began, with ${code}`))
    })
  })
  failure.catch(() => undefined)
  child.unref()
  await filterFile?.close()
  return { child, failure }
}

/** A file of these bytes, opened for whoever inherits it. */
async function writeAndOpen(path: string, bytes: Buffer): Promise<FileHandle> {
  await writeFile(path, bytes, { mode: 0o600 })
  return open(path, "r")
}

/** The keeper, as the sandbox tells it. */
async function findAgentProcess(child: ChildProcess): Promise<ProcessReference> {
  const told = await text(child.stdio[4] as Readable)
  const about = z.looseObject({ "child-pid": z.int().positive() }).safeParse(parseJsonOrNull(told))
  const keeper = about.success ? await identifyProcess(about.data["child-pid"]) : null
  if (keeper === null) throw new LaunchFailed("the sandbox ended as it began")
  return keeper
}

async function identifyIfRunning(pid: number | undefined): Promise<readonly ProcessReference[]> {
  const process = pid === undefined ? null : await identifyProcess(pid)
  return process === null ? [] : [process]
}

/** What a keeper is seen through with. */
interface AgentContext {
  readonly agent: ProcessReference
  readonly listener: AgentListener
  readonly uid: number | null
  readonly tun: string | null
  readonly disk: DiskKind
  readonly volume: DiskKind | null
}

/**
 * Sees the keeper through. The way out is made while the keeper loads the firewall, and taken away again
 * where that could not be loaded; the box is made when both are settled.
 */
async function completeLaunch(
  launching: LaunchState,
  { disk, agent, listener, tun: tunDevice, uid, volume }: AgentContext,
): Promise<Omit<LaunchedBox, "disk">> {
  const { log, context, updateRecord, paths, plan } = launching
  // Whoever waits at the pipe for the keeper's end waits for this program's as well, until then.
  const exit = await open(paths.exitPipe, "r+")
  const way = hasNetwork(context, plan) ? attachNetwork : attachNoNetwork
  const out = way(context, {
    agent,
    uid,
    exitPipe: paths.exitPipe,
    logDescriptor: log.fd,
    tunDevice,
  }).then(async (attached) => {
    if (attached.process !== null) await recordProcesses(updateRecord, [attached.process])
    return attached
  })
  // What it comes to is asked for when the keeper said how the firewall went.
  out.catch(() => undefined)
  try {
    const socket = await listener.connected
    const news = readLaunchEvents(socket)
    const first = await nextLaunchEvent(news)
    if (first.step !== "firewall") throw new LaunchFailed("the keeper said what no keeper says")
    const [network] = await settleAll([
      requireFirewall(context, await out, first.by),
      disk === "image" ? detachDisk(paths) : Promise.resolve(),
      volume === "image" ? detachVolume(paths) : Promise.resolve(),
    ])
    socket.write(`${JSON.stringify({ network } satisfies LaunchReply)}\n`)
    const last = await nextLaunchEvent(news)
    if (last.step !== "ready") throw new LaunchFailed("the keeper said what no keeper says")
    await recordProcesses(updateRecord, await identifyIfRunning(last.firstProcess))
    return { firewall: first.by, network }
  } finally {
    await exit.close()
  }
}

/** Without a firewall there is no way out at all. */
async function requireFirewall(
  { pacer }: BubblewrapContext,
  { network, process }: AttachedNetwork,
  firewalledBy: "nft" | "ip" | null,
): Promise<AttachedNetwork["network"]> {
  if (firewalledBy !== null) return network
  if (process !== null) await killProcess(process, pacer)
  return "none"
}

async function recordProcesses(
  note: LaunchState["updateRecord"],
  more: readonly ProcessReference[],
): Promise<void> {
  const { processes } = await note({})
  await note({ processes: [...processes, ...more] })
}

/** What comes of a launch, unless its sandbox ends before or it takes too long. */
async function withLaunchTimeout<T>(
  { pacer }: BubblewrapContext,
  failure: Promise<never>,
  launching: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const late = pacer.pause(LAUNCH_TIMEOUT_MS, over.signal).then((): never => {
    throw new LaunchFailed("the box was not made in time")
  })
  late.catch(() => undefined)
  const launched = launching()
  // Where it is given up, what it still comes to is of no interest; what the sandbox said is.
  launched.catch(() => undefined)
  try {
    return await Promise.race([failure, launched, late])
  } catch (error) {
    throw await Promise.race([
      failure.catch((ended: unknown) => ended),
      pacer.pause(50).then(() => error),
    ])
  } finally {
    over.abort()
  }
}

/** Where the keeper meets this program. */
async function listenForAgent(path: string): Promise<AgentListener> {
  const server = createServer()
  // Looked for from the beginning: the keeper may be there before anybody asks for it.
  const connected = new Promise<Socket>((resolve) => server.once("connection", resolve))
  server.listen(path)
  await once(server, "listening")
  await chmod(path, 0o777)
  return { connected, close: () => void server.close() }
}

/** What the keeper says, a line each. @throws LaunchFailed where that is what no keeper says */
async function* readLaunchEvents(socket: Socket): AsyncGenerator<ReceivedLaunchEvent, void> {
  for await (const line of createInterface(socket)) {
    const news = launchEventSchema.safeParse(parseJsonOrNull(line))
    if (!news.success) throw new LaunchFailed("the keeper said what no keeper says")
    yield news.data
  }
}

/** The next that it says. @throws LaunchFailed where that is that it failed, or nothing */
async function nextLaunchEvent(
  news: AsyncGenerator<ReceivedLaunchEvent, void>,
): Promise<ReceivedLaunchEvent> {
  const { value } = await news.next()
  if (value === undefined) throw new LaunchFailed("the keeper ended as it began")
  if (value.step === "failed") throw new LaunchFailed(value.why)
  return value
}

/** What words are as JSON; null where they are none. */
function parseJsonOrNull(words: string): unknown {
  try {
    return JSON.parse(words)
  } catch {
    return null
  }
}
