/** Real boxes for tests, where this machine can make them. */
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeEach } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import {
  type BubblewrapOptions,
  openShaped,
} from "../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
import { type Shape, WALLS } from "../../adapters/sandbox/boxhost/bubblewrap/shape.ts"
import type { Box, BoxPlan, RunOptions } from "../../adapters/sandbox/boxhost/port.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"

/** Why no box can be made on this machine; null where some can. */
export const absent: string | null = whyAbsent()

/** What a skipped test says. */
export const needed = absent ?? "boxes can be made here"

/** Skips each test of the calling file where there is a reason why it cannot be run here. */
export function skipWhere(why: string | null): void {
  beforeEach((ctx) => ctx.skip(why !== null, why ?? needed))
}

/** Whether boxes are users of their own here. */
export const isRoot = process.getuid?.() === 0

/** A new name of a box. */
export const newBoxId = (): BoxId => `box_${randomUUID().replaceAll("-", "").slice(0, 26)}`

/** A plan of a small box that nobody else has. */
export const newPlan = (more: Partial<BoxPlan> = {}): BoxPlan => ({
  boxId: newBoxId(),
  companyId: "co_boxes",
  size: "small",
  leaseMs: 300_000,
  environment: { BOX_NAME: "one of the tests' boxes" },
  ...more,
})

function whyAbsent(): string | null {
  if (process.platform !== "linux") return "boxes of bubblewrap are made on Linux only"
  const words = [
    "--unshare-user",
    "--uid",
    "0",
    "--gid",
    "0",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
  ]
  const tried = spawnSync("bwrap", [...words, "true"], { encoding: "utf8" })
  if (tried.error !== undefined) return "bubblewrap is not installed here"
  return tried.status === 0 ? null : `bubblewrap makes nothing here: ${tried.stderr.trim()}`
}

/** Two programs with the same boxes, and what takes all of it away. */
export type Hosts = Awaited<ReturnType<typeof openHosts>>

/** A run folder of its own, and two programs that share it. */
export async function openHosts(settings: Partial<BubblewrapOptions> = {}) {
  // Short: sockets lie in it. And open to users that boxes are.
  const runDir = mkdtempSync(join(tmpdir(), "boxes-"))
  const base = { runDir, blocked: async () => [], pacer: machinePacer, ...settings }
  /** One more program with these boxes, set otherwise. */
  const open = (more: Partial<BubblewrapOptions> = {}, walls: Shape = WALLS) =>
    openShaped({ ...base, ...more }, walls)
  const [host, another] = [await open(), await open()]
  const close = async () => {
    for (const boxId of await host.list()) await (await host.find(boxId))?.stop()
    await host.sweep()
    rmSync(runDir, { recursive: true })
  }
  return { runDir, host, another, open, close }
}

/** The same for the calling test file, at its top level. Its tests are skipped where there can be none. */
export async function ownHosts(
  settings: Partial<BubblewrapOptions> = {},
  why = absent,
): Promise<Hosts> {
  skipWhere(why)
  if (why !== null) return {} as Hosts
  const hosts = await openHosts(settings)
  afterAll(hosts.close)
  return hosts
}

/** How a command of a test is run, unless it says otherwise. */
export const OPTIONS: RunOptions = { timeoutMs: 60_000, mostBytes: 200_000, activity: true }

/** Runs a line of shell in a box; what it said, as text. */
export async function sh(box: Box, line: string, more: Partial<RunOptions> = {}) {
  const ran = await box.run(["sh", "-c", line], { ...OPTIONS, ...more })
  return { ...ran, stdout: textOf(ran.stdout), stderr: textOf(ran.stderr) }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** What a promise was rejected with; null where it was not. */
export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  const [settled] = await Promise.allSettled([promise])
  return settled?.status === "rejected" ? settled.reason : null
}
