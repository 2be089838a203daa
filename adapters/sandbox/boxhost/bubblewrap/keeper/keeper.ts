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
import { type Home, commandsIn } from "./commands.ts"
import { startBox } from "./entering.ts"
import { load } from "./firewall.ts"
import { kill, spaceOf } from "./inhabitants.ts"
import { type Pipes, pipesIn } from "./pipes.ts"
import type { BoxNetwork, KeeperPlan, LaunchAnswer, LaunchNews } from "./plan.ts"
import { serve } from "./serve.ts"
import { watch } from "./watch.ts"

const CLOSED_BY_EXEC = 0o2_000_000

/** What an ancestor left open would be open in every command of the box. */
function closeInherited(): void {
  for (const fd of readdirSync("/proc/self/fdinfo").map(Number)) {
    if (fd <= 2) continue
    try {
      const flags = /^flags:\t(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1]
      if ((Number.parseInt(flags ?? "0", 8) & CLOSED_BY_EXEC) === 0) closeSync(fd)
    } catch (error) {
      // The one that the list itself was read by.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    }
  }
}

/** A box that was made. */
interface Made {
  readonly home: Home
  /** Ends it; resolves when nothing of it lives. */
  readonly end: () => Promise<void>
  /** Resolves when it has ended, by whatever. */
  readonly ended: Promise<unknown>
}

/** Makes the box and waits until its first process is up: not before may anybody go in. */
async function make(plan: KeeperPlan, pipes: Pipes): Promise<Made> {
  const child = startBox(plan.bounds, plan.inner)
  const ended = once(child, "exit")
  const [complaints, about, up] = child.stdio.slice(2) as [Readable, Readable, Readable]
  const complaint = text(complaints)
  const [told] = await Promise.all([text(about), Promise.race([once(up, "data"), ended])])
  const first = told === "" ? 0 : (JSON.parse(told) as { "child-pid": number })["child-pid"]
  const space = child.exitCode === null && first > 0 ? spaceOf(first) : null
  if (space === null) throw new Error((await complaint).trim() || "the box ended as it began")
  const end = async () => {
    kill(first)
    await ended
  }
  return { home: { plan, pipes, first, space }, end, ended }
}

/** When the box is to end: by a clock that nobody sets. */
function lease(leaseMs: number, end: () => void) {
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
async function network(plan: KeeperPlan, launcher: Launcher): Promise<BoxNetwork> {
  launcher.say({ step: "firewall", by: plan.firewall === null ? null : await load(plan.firewall) })
  return (await launcher.answer).network
}

interface Launcher {
  readonly say: (news: LaunchNews) => void
  readonly answer: Promise<LaunchAnswer>
}

/** Who launches the box. One that goes away before the box runs takes the box with it. */
async function meet(path: string): Promise<Launcher & { leave: () => void }> {
  const socket: Socket = connect(path)
  await once(socket, "connect")
  const gone = () => process.exit(1)
  socket.once("close", gone)
  const answer = once(createInterface(socket), "line")
  return {
    say: (news) => void socket.write(`${JSON.stringify(news)}\n`),
    answer: answer.then(([line]) => JSON.parse(String(line)) as LaunchAnswer),
    leave: () => {
      socket.off("close", gone)
      socket.on("error", () => undefined)
      socket.end()
    },
  }
}

async function keep(plan: KeeperPlan): Promise<void> {
  const launcher = await meet(plan.launch)
  try {
    openSync(plan.exit, "r+")
    const pipes = pipesIn(plan.pipes)
    const out = await network(plan, launcher)
    const { home, end, ended } = await make(plan, pipes)
    const commands = commandsIn(home)
    const { extend, leftMs } = lease(plan.leaseMs, () => void end())
    await serve(plan.socket, { commands, network: out, leaseLeftMs: leftMs, extend, end, ended })
    watch(home)
    launcher.say({ step: "ready", firstProcess: home.first })
    launcher.leave()
  } catch (error) {
    launcher.say({ step: "failed", why: (error as Error).message })
    launcher.leave()
    throw error
  }
}

closeInherited()
process.umask(0o077)
await keep(JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as KeeperPlan)
