/**
 * The keeper of a box: a process of its own, between the machine and the box, that outlives the program
 * which launched it. It makes the box, brings commands into it, and ends it when its lease is over;
 * when it dies itself, all of the box dies with it.
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

/** What an ancestor left open would be open in every command of the box. */
function closeInherited(): void {
  for (const fd of readdirSync("/proc/self/fdinfo").map(Number)) {
    if (fd <= 2) continue
    try {
      const flags = /^flags:\t(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1]
      if ((Number.parseInt(flags ?? "0", 8) & CLOSE_ON_EXEC) === 0) closeSync(fd)
    } catch (error) {
      // The one that the list itself was read by.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    }
  }
}

/** A box that was made. */
interface CreatedBox {
  readonly context: BoxContext
  /** Ends it; resolves when nothing of it lives. */
  readonly end: () => Promise<void>
  /** Resolves when it has ended, by whatever. */
  readonly ended: Promise<unknown>
}

/** Makes the box and waits until its first process is up: not before may anybody go in. */
async function createBox(plan: AgentPlan, pipes: PipePool): Promise<CreatedBox> {
  const child = spawnBox(plan.bounds, plan.inner)
  const ended = once(child, "exit")
  const [complaints, about, up] = child.stdio.slice(2) as [Readable, Readable, Readable]
  const complaint = text(complaints)
  const [told] = await Promise.all([text(about), Promise.race([once(up, "data"), ended])])
  const firstPid = told === "" ? 0 : (JSON.parse(told) as { "child-pid": number })["child-pid"]
  const pidNamespace = child.exitCode === null && firstPid > 0 ? pidNamespaceOf(firstPid) : null
  if (pidNamespace === null)
    throw new Error((await complaint).trim() || "the box ended as it began")
  const end = async () => {
    killNow(firstPid)
    await ended
  }
  return { context: { plan, pipes, firstPid, pidNamespace }, end, ended }
}

/** When the box is to end: by a clock that nobody sets. */
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

/** Agrees with the launcher on a way out: none before the firewall is there. */
async function negotiateNetwork(plan: AgentPlan, launcher: Launcher): Promise<BoxNetwork> {
  launcher.report({
    step: "firewall",
    by: plan.firewall === null ? null : await loadFirewall(plan.firewall),
  })
  return (await launcher.reply).network
}

interface Launcher {
  readonly report: (news: LaunchEvent) => void
  readonly reply: Promise<LaunchReply>
}

/** Who launches the box. One that goes away before the box runs takes the box with it. */
async function connectLauncher(path: string): Promise<Launcher & { leave: () => void }> {
  const socket: Socket = connect(path)
  await once(socket, "connect")
  const gone = () => process.exit(1)
  socket.once("close", gone)
  const answer = once(createInterface(socket), "line")
  return {
    report: (news) => void socket.write(`${JSON.stringify(news)}\n`),
    reply: answer.then(([line]) => JSON.parse(String(line)) as LaunchReply),
    leave: () => {
      socket.off("close", gone)
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
    const out = await negotiateNetwork(plan, launcher)
    const { context, end, ended } = await createBox(plan, pipes)
    const commands = openBoxCommands(context)
    const { extend, leftMs } = startLease(plan.leaseMs, () => void end())
    await serveAgent(plan.socket, {
      commands,
      network: out,
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
