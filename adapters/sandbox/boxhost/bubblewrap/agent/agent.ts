/**
 * The box agent: a process between the machine and the box that outlives the program which launched
 * it. It creates the box, runs commands in it, and ends it when the lease expires; if the agent
 * dies, the whole box dies with it.
 */
import { closeSync, openSync, readFileSync, readdirSync } from "node:fs"
import { type Socket, connect } from "node:net"
import { createInterface } from "node:readline"
import { once } from "node:events"
import type { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { type BoxContext, openBoxCommands } from "./commands.ts"
import { spawnBox } from "./enter-box.ts"
import { loadFirewall } from "./firewall.ts"
import { killNow, pidNamespaceOf } from "./box-processes.ts"
import { type PipePool, openPipePool } from "./pipes.ts"
import type { BoxNetwork, AgentPlan, LaunchReply, LaunchEvent } from "./plan.ts"
import { serveAgent } from "./serve.ts"
import { watchLimits } from "./watch.ts"

const CLOSE_ON_EXEC = 0o2_000_000

/** Closes inherited descriptors, which every command of the box would inherit, too. */
function closeInherited(): void {
  for (const fd of readdirSync("/proc/self/fdinfo").map(Number)) {
    if (fd <= 2) continue
    try {
      const flags = /^flags:\t(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1]
      if ((Number.parseInt(flags ?? "0", 8) & CLOSE_ON_EXEC) === 0) closeSync(fd)
    } catch (error) {
      // The descriptor that listed the folder.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    }
  }
}

interface CreatedBox {
  readonly context: BoxContext
  /** Ends the box; resolves when no process of it lives. */
  readonly end: () => Promise<void>
  /** Resolves when the box has ended for any reason. */
  readonly ended: Promise<unknown>
}

/** Creates the box and waits for its first process: nothing may enter before. */
async function createBox(plan: AgentPlan, pipes: PipePool): Promise<CreatedBox> {
  const child = spawnBox(plan.bounds, plan.inner)
  const ended = once(child, "exit")
  const [errors, about, up] = child.stdio.slice(2) as [Readable, Readable, Readable]
  const errorText = text(errors)
  const [info] = await Promise.all([text(about), Promise.race([once(up, "data"), ended])])
  const firstPid = info === "" ? 0 : (JSON.parse(info) as { "child-pid": number })["child-pid"]
  const pidNamespace = child.exitCode === null && firstPid > 0 ? pidNamespaceOf(firstPid) : null
  if (pidNamespace === null)
    throw new Error((await errorText).trim() || "the box ended during its start")
  const end = async () => {
    killNow(firstPid)
    await ended
  }
  return { context: { plan, pipes, firstPid, pidNamespace }, end, ended }
}

/** Starts the lease, measured by a monotonic clock. */
function startLease(leaseMs: number, end: () => void) {
  let endsAt = performance.now() + leaseMs
  let timer = setTimeout(end, leaseMs)
  return {
    leftMs: () => Math.max(0, Math.round(endsAt - performance.now())),
    extend: (ms: number) => {
      clearTimeout(timer)
      endsAt = performance.now() + ms
      timer = setTimeout(end, ms)
    },
  }
}

/** Agrees with the launcher on the network: there is none before the firewall is loaded. */
async function negotiateNetwork(plan: AgentPlan, launcher: Launcher): Promise<BoxNetwork> {
  launcher.report({
    step: "firewall",
    by: plan.firewall === null ? null : await loadFirewall(plan.firewall),
  })
  return (await launcher.reply).network
}

interface Launcher {
  readonly report: (event: LaunchEvent) => void
  readonly reply: Promise<LaunchReply>
}

/** Connects to the launcher. If the launcher ends before the box runs, the agent ends as well. */
async function connectLauncher(path: string): Promise<Launcher & { leave: () => void }> {
  const socket: Socket = connect(path)
  await once(socket, "connect")
  const onLauncherGone = () => process.exit(1)
  socket.once("close", onLauncherGone)
  const answer = once(createInterface(socket), "line")
  return {
    report: (event) => void socket.write(`${JSON.stringify(event)}\n`),
    reply: answer.then(([line]) => JSON.parse(String(line)) as LaunchReply),
    leave: () => {
      socket.off("close", onLauncherGone)
      socket.on("error", () => undefined)
      socket.end()
    },
  }
}

async function runAgent(plan: AgentPlan): Promise<void> {
  const launcher = await connectLauncher(plan.launch)
  try {
    openSync(plan.exit, "r+")
    const pipes = openPipePool(plan.pipes)
    const network = await negotiateNetwork(plan, launcher)
    const { context, end, ended } = await createBox(plan, pipes)
    const commands = openBoxCommands(context)
    const { extend, leftMs } = startLease(plan.leaseMs, () => void end())
    await serveAgent(plan.socket, {
      commands,
      network,
      leaseLeftMs: leftMs,
      extend,
      end,
      ended,
    })
    watchLimits(context)
    launcher.report({ step: "ready", firstProcess: context.firstPid })
    launcher.leave()
  } catch (error) {
    launcher.report({ step: "failed", why: (error as Error).message })
    launcher.leave()
    throw error
  }
}

closeInherited()
process.umask(0o077)
await runAgent(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as AgentPlan)
