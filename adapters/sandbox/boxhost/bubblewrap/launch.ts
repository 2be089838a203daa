/** Launches a box: its record, disk, limits, sandboxes, agent and network, in this order. */
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

/** Only the form of the agent's messages is trusted. */
const launchEventSchema = z.discriminatedUnion("step", [
  z.strictObject({ step: z.literal("firewall"), by: z.enum(["nft", "ip"]).nullable() }),
  z.strictObject({ step: z.literal("ready"), firstProcess: z.int().positive() }),
  z.strictObject({ step: z.literal("failed"), why: z.string().max(10_000) }),
])

type ReceivedLaunchEvent = z.infer<typeof launchEventSchema>

interface AgentListener {
  readonly connected: Promise<Socket>
  readonly close: () => void
}

const LAUNCH_TIMEOUT_MS = 60_000

export interface LaunchedBox {
  readonly disk: DiskKind
  readonly firewall: "nft" | "ip" | null
  readonly network: AttachedNetwork["network"]
}

interface LaunchState extends BoxPreparation {
  readonly name: string
  readonly log: FileHandle
  /** Updates the box's record. */
  readonly updateRecord: (more: Partial<BoxRecord>) => Promise<BoxRecord>
}

/**
 * Launches a box that this program has claimed. After any error the caller must end the box.
 *
 * @param name the name of the record and the folder
 * @throws LaunchFailed with the machine's error
 */
export async function launchBox(
  machine: BubblewrapContext,
  plan: BoxPlan,
  { name, record }: { readonly name: string; readonly record: BoxRecord },
): Promise<LaunchedBox> {
  const { runFolder } = machine
  const paths = runFolder.pathsOf(name)
  let currentRecord = record
  let hasEnded = false
  const updateRecord: LaunchState["updateRecord"] = async (more) => {
    // An aborted launch may continue for a moment, but the box no longer belongs to it.
    if (hasEnded) throw new LaunchFailed("the launch was aborted")
    currentRecord = { ...currentRecord, ...more }
    await runFolder.write(name, currentRecord)
    return currentRecord
  }
  const log = await open(paths.log, "a", 0o600)
  try {
    const state = {
      context: machine,
      plan,
      name,
      paths: paths,
      log,
      updateRecord,
      limits: SANDBOX_LIMITS[plan.size],
    }
    return await runLaunchSteps(state, record.uid)
  } finally {
    hasEnded = true
    await log.close()
  }
}

async function runLaunchSteps(state: LaunchState, uid: number | null): Promise<LaunchedBox> {
  const { limits, context, name, updateRecord, paths, plan } = state
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
    await writeAgentFiles(state, { disk, groups, uid, volume })
    const { child, failure } = await spawnOuterSandbox(state, { groups, uid, volume })
    const result = await withLaunchTimeout(context, failure, async () => {
      const agent = await findAgentProcess(child)
      await updateRecord({
        processes: [...(await identifyIfRunning(child.pid)), agent],
        keeper: agent,
      })
      if (groups.agentProcsFile !== null) await writeFile(groups.agentProcsFile, String(agent.pid))
      return completeLaunch(state, { agent, listener, uid, tun, disk, volume })
    })
    await updateRecord({ isReady: true })
    return { disk, ...result }
  } finally {
    listener.close()
  }
}

async function prepareVolume(
  machine: BubblewrapContext,
  paths: BoxPaths,
  { plan, uid }: { readonly plan: BoxPlan; readonly uid: number | null },
): Promise<DiskKind | null> {
  return plan.volume === undefined ? null : makeVolume(machine, paths, { ...plan.volume, uid })
}

/** Waits for all parts to settle, so that none continues alone. */
async function settleAll<T extends readonly unknown[] | []>(
  parts: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(parts)
  return Promise.all(parts)
}

interface OuterSandbox {
  readonly child: ChildProcess
  /** Rejects when the sandbox ends, also long after the launch. */
  readonly failure: Promise<never>
}

/** Starts the outer sandbox with the agent in it. @throws LaunchFailed if the program is missing */
async function spawnOuterSandbox(
  { log, context, paths, plan }: LaunchState,
  {
    groups,
    uid,
    volume,
  }: { groups: BoxControlGroups; uid: number | null; volume: DiskKind | null },
): Promise<OuterSandbox> {
  const program = await context.installAgent()
  const root = context.options.rootFileSystem ?? null
  const view = {
    node: program.nodePath,
    program: program.folder,
    root,
    groups: groups.visibleFolders,
  }
  const { disk, folder } = paths
  const volumeAt = volume === null ? null : volumePath(paths, plan, volume)
  const programs =
    plan.programs === undefined ? null : await context.installPrograms(plan.programs.hostPath)
  const outerArguments = await context.policy.outerArguments({
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
  const args = [...outerArguments, ...filtered, "--info-fd", "4", ...agent]
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
  // Registered immediately: a missing program reports its error on the next tick.
  const failure = new Promise<never>((_, reject) => {
    child.once("error", (error) => reject(new LaunchFailed(`bwrap: ${error.message}`)))
    child.once("exit", (code) => {
      reject(new LaunchFailed(`the sandbox ended during its start, with exit code ${code}`))
    })
  })
  failure.catch(() => undefined)
  child.unref()
  await filterFile?.close()
  return { child, failure }
}

/** Writes a file and opens it for a child to inherit. */
async function writeAndOpen(path: string, bytes: Buffer): Promise<FileHandle> {
  await writeFile(path, bytes, { mode: 0o600 })
  return open(path, "r")
}

/** Reads the agent's process id from the sandbox's info output. */
async function findAgentProcess(child: ChildProcess): Promise<ProcessReference> {
  const info = await text(child.stdio[4] as Readable)
  const parsed = z.looseObject({ "child-pid": z.int().positive() }).safeParse(parseJsonOrNull(info))
  const agent = parsed.success ? await identifyProcess(parsed.data["child-pid"]) : null
  if (agent === null) throw new LaunchFailed("the sandbox ended during its start")
  return agent
}

async function identifyIfRunning(pid: number | undefined): Promise<readonly ProcessReference[]> {
  const process = pid === undefined ? null : await identifyProcess(pid)
  return process === null ? [] : [process]
}

/** The inputs of the agent's part of the launch. */
interface AgentContext {
  readonly agent: ProcessReference
  readonly listener: AgentListener
  readonly uid: number | null
  readonly tun: string | null
  readonly disk: DiskKind
  readonly volume: DiskKind | null
}

/**
 * Completes the launch with the agent. The network is set up while the agent loads the firewall,
 * and removed again if the firewall fails; the box is created when both are done.
 */
async function completeLaunch(
  state: LaunchState,
  { disk, agent, listener, tun: tunDevice, uid, volume }: AgentContext,
): Promise<Omit<LaunchedBox, "disk">> {
  const { log, context, updateRecord, paths, plan } = state
  // Keeps the exit pipe open until the launch ends, so that its readers also wait for this program.
  const exit = await open(paths.exitPipe, "r+")
  const attach = hasNetwork(context, plan) ? attachNetwork : attachNoNetwork
  const attaching = attach(context, {
    agent,
    uid,
    exitPipe: paths.exitPipe,
    logDescriptor: log.fd,
    tunDevice,
  }).then(async (attached) => {
    if (attached.process !== null) await recordProcesses(updateRecord, [attached.process])
    return attached
  })
  // Errors are handled when the agent has reported the firewall.
  attaching.catch(() => undefined)
  try {
    const socket = await listener.connected
    const events = readLaunchEvents(socket)
    const first = await nextLaunchEvent(events)
    if (first.step !== "firewall")
      throw new LaunchFailed("the box agent's first message was not parsed the firewall")
    const [network] = await settleAll([
      requireFirewall(context, await attaching, first.by),
      disk === "image" ? detachDisk(paths) : Promise.resolve(),
      volume === "image" ? detachVolume(paths) : Promise.resolve(),
    ])
    socket.write(`${JSON.stringify({ network } satisfies LaunchReply)}\n`)
    const last = await nextLaunchEvent(events)
    if (last.step !== "ready")
      throw new LaunchFailed("the box agent did not report that the box is ready")
    await recordProcesses(updateRecord, await identifyIfRunning(last.firstProcess))
    return { firewall: first.by, network }
  } finally {
    await exit.close()
  }
}

/** Without a firewall the box gets no network. */
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
  updateRecord: LaunchState["updateRecord"],
  more: readonly ProcessReference[],
): Promise<void> {
  const { processes } = await updateRecord({})
  await updateRecord({ processes: [...processes, ...more] })
}

/** Runs a launch until it ends, its sandbox ends, or the timeout passes. */
async function withLaunchTimeout<T>(
  { pacer }: BubblewrapContext,
  failure: Promise<never>,
  launch: () => Promise<T>,
): Promise<T> {
  const finished = new AbortController()
  const late = pacer.pause(LAUNCH_TIMEOUT_MS, finished.signal).then((): never => {
    throw new LaunchFailed(`the box did not start within ${LAUNCH_TIMEOUT_MS / 1_000} s`)
  })
  late.catch(() => undefined)
  const launched = launch()
  // After an abort its result is ignored, but the sandbox's error is reported.
  launched.catch(() => undefined)
  try {
    return await Promise.race([failure, launched, late])
  } catch (error) {
    throw await Promise.race([
      failure.catch((ended: unknown) => ended),
      pacer.pause(50).then(() => error),
    ])
  } finally {
    finished.abort()
  }
}

async function listenForAgent(path: string): Promise<AgentListener> {
  const server = createServer()
  // Registered immediately: the agent may connect before the launch awaits it.
  const connected = new Promise<Socket>((resolve) => server.once("connection", resolve))
  server.listen(path)
  await once(server, "listening")
  await chmod(path, 0o777)
  return { connected, close: () => void server.close() }
}

/** The agent's messages, one per line. @throws LaunchFailed for an invalid message */
async function* readLaunchEvents(socket: Socket): AsyncGenerator<ReceivedLaunchEvent, void> {
  for await (const line of createInterface(socket)) {
    const event = launchEventSchema.safeParse(parseJsonOrNull(line))
    if (!event.success) throw new LaunchFailed("the box agent sent an invalid message")
    yield event.data
  }
}

/** The agent's next message. @throws LaunchFailed if it reports a failure or the agent has ended */
async function nextLaunchEvent(
  events: AsyncGenerator<ReceivedLaunchEvent, void>,
): Promise<ReceivedLaunchEvent> {
  const { value } = await events.next()
  if (value === undefined) throw new LaunchFailed("the box agent ended during the launch")
  if (value.step === "failed") throw new LaunchFailed(value.why)
  return value
}

/** Parses JSON; null if the text is not JSON. */
function parseJsonOrNull(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}
