/** Real boxes for tests, where this machine can make them. */
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeEach } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import {
  type BubblewrapOptions,
  openBubblewrapWithPolicy,
} from "../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
import {
  type SandboxPolicy,
  DEFAULT_SANDBOX_POLICY,
} from "../../adapters/sandbox/boxhost/bubblewrap/sandbox-policy.ts"
import type { BoxHandle, BoxPlan, CommandOptions } from "../../adapters/sandbox/boxhost/port.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"

/** Why no box can be made on this machine; null where some can. */
export const noSandboxReason: string | null = findNoSandboxReason()

/** What a skipped test says. */
export const sandboxRequirement = noSandboxReason ?? "boxes can be made here"

/** Skips each test of the calling file where there is a reason why it cannot be run here. */
export function skipTestsBecause(why: string | null): void {
  beforeEach((ctx) => ctx.skip(why !== null, why ?? sandboxRequirement))
}

/** Whether boxes are users of their own here. */
export const isRoot = process.getuid?.() === 0

/** A new name of a box. */
export const newBoxId = (): BoxId => `box_${randomUUID().replaceAll("-", "").slice(0, 26)}`

/** A plan of a small box that nobody else has. */
export const newBoxPlan = (more: Partial<BoxPlan> = {}): BoxPlan => ({
  boxId: newBoxId(),
  companyId: "co_boxes",
  size: "small",
  leaseMs: 300_000,
  environment: { BOX_NAME: "one of the tests' boxes" },
  ...more,
})

function findNoSandboxReason(): string | null {
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
export type SandboxHosts = Awaited<ReturnType<typeof openSandboxHosts>>

/** A run folder of its own, and two programs that share it. */
export async function openSandboxHosts(settings: Partial<BubblewrapOptions> = {}) {
  // Short: sockets lie in it. And open to users that boxes are.
  const runDir = mkdtempSync(join(tmpdir(), "boxes-"))
  const base = { runDir, blockedNetworks: async () => [], pacer: machinePacer, ...settings }
  /** One more program with these boxes, set otherwise. */
  const open = (
    more: Partial<BubblewrapOptions> = {},
    walls: SandboxPolicy = DEFAULT_SANDBOX_POLICY,
  ) => openBubblewrapWithPolicy({ ...base, ...more }, walls)
  const [host, another] = [await open(), await open()]
  const close = async () => {
    for (const boxId of await host.listBoxes()) await (await host.find(boxId))?.stop()
    await host.sweep()
    rmSync(runDir, { recursive: true })
  }
  return { runDir, host, another, open, close }
}

/** The same for the calling test file, at its top level. Its tests are skipped where there can be none. */
export async function ownSandboxHosts(
  settings: Partial<BubblewrapOptions> = {},
  why = noSandboxReason,
): Promise<SandboxHosts> {
  skipTestsBecause(why)
  if (why !== null) return {} as SandboxHosts
  const hosts = await openSandboxHosts(settings)
  afterAll(hosts.close)
  return hosts
}

/** How a command of a test is run, unless it says otherwise. */
export const SANDBOX_RUN_OPTIONS: CommandOptions = {
  timeoutMs: 60_000,
  maxOutputBytes: 200_000,
  isActivity: true,
}

/** Runs a line of shell in a box; what it said, as text. */
export async function runShell(box: BoxHandle, line: string, more: Partial<CommandOptions> = {}) {
  const ran = await box.run(["sh", "-c", line], { ...SANDBOX_RUN_OPTIONS, ...more })
  return { ...ran, stdout: textOf(ran.stdout), stderr: textOf(ran.stderr) }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** What a promise was rejected with; null where it was not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const [settled] = await Promise.allSettled([promise])
  return settled?.status === "rejected" ? settled.reason : null
}
