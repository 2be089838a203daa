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
import { hideDisk, makeDisk } from "./disk.ts"
import type { BoxGroups } from "./groups.ts"
import { SIZES } from "./groups.ts"
import type { LaunchAnswer } from "./keeper/plan.ts"
import type { Attached } from "./network.ts"
import { attach, hasWayOut, noWay, ownTun } from "./network.ts"
import type { Prepared } from "./preparing.ts"
import { makePipes, writeFiles } from "./preparing.ts"
import type { KnownProcess } from "./program.ts"
import { killProcess, known } from "./program.ts"
import type { BoxPlaces, BoxRecord } from "./run-folder.ts"
import type { Machine } from "./settings.ts"
import { CannotLaunch } from "./settings.ts"
import { SEEN } from "./shape.ts"
import { hideVolume, makeVolume, volumePlace } from "./volume.ts"
import { once } from "node:events"
import type { Socket } from "node:net"
import { createServer } from "node:net"
import { createInterface } from "node:readline"

/** Of what a keeper says nothing is believed but its form. */
const newsForm = z.discriminatedUnion("step", [
  z.strictObject({ step: z.literal("firewall"), by: z.enum(["nft", "ip"]).nullable() }),
  z.strictObject({ step: z.literal("ready"), firstProcess: z.int().positive() }),
  z.strictObject({ step: z.literal("failed"), why: z.string().max(10_000) }),
])

type News = z.infer<typeof newsForm>

/** A keeper that is expected. */
interface Meeting {
  readonly came: Promise<Socket>
  readonly close: () => void
}

const LAUNCH_WITHIN_MS = 60_000

/** How a box turned out. */
export interface Launched {
  readonly disk: DiskKind
  readonly firewall: "nft" | "ip" | null
  readonly network: Attached["network"]
}

/** A launch under way. */
interface Launch extends Prepared {
  readonly name: string
  readonly log: FileHandle
  /** Stores what is known by now. */
  readonly note: (more: Partial<BoxRecord>) => Promise<BoxRecord>
}

/**
 * Launches a box that this program has claimed. Whatever it throws, the box is to be ended.
 *
 * @param name what its record and its folder are called
 * @throws CannotLaunch with what the machine said
 */
export async function launch(
  machine: Machine,
  plan: BoxPlan,
  { name, record }: { readonly name: string; readonly record: BoxRecord },
): Promise<Launched> {
  const { runs } = machine
  const places = runs.placesOf(name)
  let noted = record
  let isOver = false
  const note: Launch["note"] = async (more) => {
    // A launch that was given up may still go on for a moment; the box is no longer its own.
    if (isOver) throw new CannotLaunch("the launch was given up")
    noted = { ...noted, ...more }
    await runs.write(name, noted)
    return noted
  }
  const log = await open(places.log, "a", 0o600)
  try {
    const launching = { machine, plan, name, places, log, note, limits: SIZES[plan.size] }
    return await inOrder(launching, record.uid)
  } finally {
    isOver = true
    await log.close()
  }
}

async function inOrder(launching: Launch, uid: number | null): Promise<Launched> {
  const { limits, machine, name, note, places, plan } = launching
  await mkdir(places.folder, { mode: 0o700 })
  if (uid !== null) await chown(places.folder, uid, uid)
  const [disk, volume, groups, tun, meeting] = await together([
    makeDisk(machine, places, { bytes: limits.diskBytes, uid }),
    volumeOf(machine, places, { plan, uid }),
    machine.groups.make(name, limits, uid),
    ownTun(`${places.image}.tun`, uid),
    meetingPlace(places.launch),
    makePipes(places, uid),
  ])
  try {
    await note({ groups: [...groups.folders] })
    await writeFiles(launching, { disk, groups, uid, volume })
    const { child, failure } = await spawnOuter(launching, { groups, uid, volume })
    const result = await inTime(machine, failure, async () => {
      const keeper = await keeperOf(child)
      await note({ processes: [...(await knownOf(child.pid)), keeper], keeper })
      if (groups.keeper !== null) await writeFile(groups.keeper, String(keeper.pid))
      return seeThrough(launching, { keeper, meeting, uid, tun, disk, volume })
    })
    await note({ isReady: true })
    return { disk, ...result }
  } finally {
    meeting.close()
  }
}

async function volumeOf(
  machine: Machine,
  places: BoxPlaces,
  { plan, uid }: { readonly plan: BoxPlan; readonly uid: number | null },
): Promise<DiskKind | null> {
  return plan.volume === undefined ? null : makeVolume(machine, places, { ...plan.volume, uid })
}

/** What several come to, once all of them have come to something: none goes on alone. */
async function together<T extends readonly unknown[] | []>(
  parts: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(parts)
  return Promise.all(parts)
}

/** The outer sandbox. */
interface Outer {
  readonly child: ChildProcess
  /** Rejected when it ends, also much later. */
  readonly failure: Promise<never>
}

/** Starts the outer sandbox with the keeper in it. @throws CannotLaunch where there is no such program */
async function spawnOuter(
  { log, machine, places, plan }: Launch,
  { groups, uid, volume }: { groups: BoxGroups; uid: number | null; volume: DiskKind | null },
): Promise<Outer> {
  const laid = await machine.keeperProgram()
  const root = machine.options.root ?? null
  const view = { node: laid.node, program: laid.folder, root, groups: groups.shown }
  const { disk, folder } = places
  const volumeAt = volume === null ? null : volumePlace(places, plan, volume)
  const programs = plan.programs === undefined ? null : await machine.laid(plan.programs.from)
  const walls = await machine.shape.outer({ ...view, folder, disk, volume: volumeAt, programs })
  const filter = machine.lacks("seccomp") ? null : machine.shape.filter(process.arch)
  const filterFile = filter === null ? null : await written(join(places.folder, "calls"), filter)
  const keeper = [SEEN.node, "--max-old-space-size=64", join(SEEN.program, "keeper.js")]
  const filtered = filter === null ? [] : ["--seccomp", "3"]
  const args = [...walls, ...filtered, "--info-fd", "4", ...keeper]
  const bwrap = machine.lacks("bwrap") ? join(machine.runs.path, "no-bwrap-here") : "bwrap"
  const child = spawn(bwrap, [...args, join(places.folder, "plan.json")], {
    detached: true,
    cwd: "/",
    env: { PATH: process.env["PATH"] ?? "" },
    stdio: ["ignore", log.fd, log.fd, filterFile?.fd ?? "ignore", "pipe"],
    ...(uid === null ? {} : { uid, gid: uid }),
  })
  // At once: a program that is not there says so at the next moment.
  const failure = new Promise<never>((_, reject) => {
    child.once("error", (error) => reject(new CannotLaunch(`bwrap: ${error.message}`)))
    child.once("exit", (code) => {
      reject(new CannotLaunch(`the sandbox ended as it began, with ${code}`))
    })
  })
  failure.catch(() => undefined)
  child.unref()
  await filterFile?.close()
  return { child, failure }
}

/** A file of these bytes, opened for whoever inherits it. */
async function written(path: string, bytes: Buffer): Promise<FileHandle> {
  await writeFile(path, bytes, { mode: 0o600 })
  return open(path, "r")
}

/** The keeper, as the sandbox tells it. */
async function keeperOf(child: ChildProcess): Promise<KnownProcess> {
  const told = await text(child.stdio[4] as Readable)
  const about = z.looseObject({ "child-pid": z.int().positive() }).safeParse(jsonOf(told))
  const keeper = about.success ? await known(about.data["child-pid"]) : null
  if (keeper === null) throw new CannotLaunch("the sandbox ended as it began")
  return keeper
}

async function knownOf(pid: number | undefined): Promise<readonly KnownProcess[]> {
  const process = pid === undefined ? null : await known(pid)
  return process === null ? [] : [process]
}

/** What a keeper is seen through with. */
interface Keeper {
  readonly keeper: KnownProcess
  readonly meeting: Meeting
  readonly uid: number | null
  readonly tun: string | null
  readonly disk: DiskKind
  readonly volume: DiskKind | null
}

/**
 * Sees the keeper through. The way out is made while the keeper loads the firewall, and taken away again
 * where that could not be loaded; the box is made when both are settled.
 */
async function seeThrough(
  launching: Launch,
  { disk, keeper, meeting, tun, uid, volume }: Keeper,
): Promise<Omit<Launched, "disk">> {
  const { log, machine, note, places, plan } = launching
  // Whoever waits at the pipe for the keeper's end waits for this program's as well, until then.
  const exit = await open(places.exit, "r+")
  const way = hasWayOut(machine, plan) ? attach : noWay
  const out = way(machine, { keeper, uid, exit: places.exit, log: log.fd, tun }).then(
    async (attached) => {
      if (attached.process !== null) await noteMore(note, [attached.process])
      return attached
    },
  )
  // What it comes to is asked for when the keeper said how the firewall went.
  out.catch(() => undefined)
  try {
    const socket = await meeting.came
    const news = newsOf(socket)
    const first = await next(news)
    if (first.step !== "firewall") throw new CannotLaunch("the keeper said what no keeper says")
    const [network] = await together([
      settledWay(machine, await out, first.by),
      disk === "image" ? hideDisk(places) : Promise.resolve(),
      volume === "image" ? hideVolume(places) : Promise.resolve(),
    ])
    socket.write(`${JSON.stringify({ network } satisfies LaunchAnswer)}\n`)
    const last = await next(news)
    if (last.step !== "ready") throw new CannotLaunch("the keeper said what no keeper says")
    await noteMore(note, await knownOf(last.firstProcess))
    return { firewall: first.by, network }
  } finally {
    await exit.close()
  }
}

/** Without a firewall there is no way out at all. */
async function settledWay(
  { pacer }: Machine,
  { network, process }: Attached,
  firewalledBy: "nft" | "ip" | null,
): Promise<Attached["network"]> {
  if (firewalledBy !== null) return network
  if (process !== null) await killProcess(process, pacer)
  return "none"
}

async function noteMore(note: Launch["note"], more: readonly KnownProcess[]): Promise<void> {
  const { processes } = await note({})
  await note({ processes: [...processes, ...more] })
}

/** What comes of a launch, unless its sandbox ends before or it takes too long. */
async function inTime<T>(
  { pacer }: Machine,
  failure: Promise<never>,
  launching: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const late = pacer.pause(LAUNCH_WITHIN_MS, over.signal).then((): never => {
    throw new CannotLaunch("the box was not made in time")
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
async function meetingPlace(path: string): Promise<Meeting> {
  const server = createServer()
  // Looked for from the beginning: the keeper may be there before anybody asks for it.
  const came = new Promise<Socket>((resolve) => server.once("connection", resolve))
  server.listen(path)
  await once(server, "listening")
  await chmod(path, 0o777)
  return { came, close: () => void server.close() }
}

/** What the keeper says, a line each. @throws CannotLaunch where that is what no keeper says */
async function* newsOf(socket: Socket): AsyncGenerator<News, void> {
  for await (const line of createInterface(socket)) {
    const news = newsForm.safeParse(jsonOf(line))
    if (!news.success) throw new CannotLaunch("the keeper said what no keeper says")
    yield news.data
  }
}

/** The next that it says. @throws CannotLaunch where that is that it failed, or nothing */
async function next(news: AsyncGenerator<News, void>): Promise<News> {
  const { value } = await news.next()
  if (value === undefined) throw new CannotLaunch("the keeper ended as it began")
  if (value.step === "failed") throw new CannotLaunch(value.why)
  return value
}

/** What words are as JSON; null where they are none. */
function jsonOf(words: string): unknown {
  try {
    return JSON.parse(words)
  } catch {
    return null
  }
}
