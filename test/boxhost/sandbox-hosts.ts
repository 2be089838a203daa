/** Real boxes for tests, if this machine can make them. */
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

/** Why this machine cannot make boxes; null if it can. */
export const noSandboxReason: string | null = findNoSandboxReason()

/** The message of a skipped test. */
export const sandboxRequirement = noSandboxReason ?? "this machine can make boxes"

/** Skips each test of the calling file if there is a reason. */
export function skipTestsBecause(why: string | null): void {
  beforeEach((ctx) => ctx.skip(why !== null, why ?? sandboxRequirement))
}

/** Whether this process is root; only then is each box a separate user. */
export const isRoot = process.getuid?.() === 0

/** A new box id. */
export const newBoxId = (): BoxId => `box_${randomUUID().replaceAll("-", "").slice(0, 26)}`

/** A plan of a new small box. */
export const newBoxPlan = (more: Partial<BoxPlan> = {}): BoxPlan => ({
  boxId: newBoxId(),
  companyId: "co_boxes",
  size: "small",
  leaseMs: 300_000,
  environment: { BOX_NAME: "one of the tests' boxes" },
  ...more,
})

function findNoSandboxReason(): string | null {
  if (process.platform !== "linux") return "bubblewrap works only on Linux"
  const args = [
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
  const tried = spawnSync("bwrap", [...args, "true"], { encoding: "utf8" })
  if (tried.error !== undefined) return "bubblewrap is not installed here"
  return tried.status === 0 ? null : `bubblewrap cannot make sandboxes here: ${tried.stderr.trim()}`
}

/** Two programs with the same boxes, and a cleanup function. */
export type SandboxHosts = Awaited<ReturnType<typeof openSandboxHosts>>

/** Opens two programs that share a new run folder. */
export async function openSandboxHosts(settings: Partial<BubblewrapOptions> = {}) {
  // The path must be short, because sockets are in it, and accessible to the users of boxes.
  const runDir = mkdtempSync(join(tmpdir(), "boxes-"))
  const base = { runDir, blockedNetworks: async () => [], pacer: machinePacer, ...settings }
  /** Opens another program with the same boxes and other settings. */
  const open = (
    more: Partial<BubblewrapOptions> = {},
    policy: SandboxPolicy = DEFAULT_SANDBOX_POLICY,
  ) => openBubblewrapWithPolicy({ ...base, ...more }, policy)
  const [host, another] = [await open(), await open()]
  const close = async () => {
    for (const boxId of await host.listBoxes()) await (await host.find(boxId))?.stop()
    await host.sweep()
    rmSync(runDir, { recursive: true })
  }
  return { runDir, host, another, open, close }
}

/** Opens two programs for the calling file, at its top level; its tests are skipped without sandboxes. */
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

/** Default options of a command. */
export const SANDBOX_RUN_OPTIONS: CommandOptions = {
  timeoutMs: 60_000,
  maxOutputBytes: 200_000,
  isActivity: true,
}

/** Runs a line of shell in a box; returns its output as text. */
export async function runShell(box: BoxHandle, line: string, more: Partial<CommandOptions> = {}) {
  const ran = await box.run(["sh", "-c", line], { ...SANDBOX_RUN_OPTIONS, ...more })
  return { ...ran, stdout: textOf(ran.stdout), stderr: textOf(ran.stderr) }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** The error that a promise was rejected with; null if it was resolved. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const [settled] = await Promise.allSettled([promise])
  return settled?.status === "rejected" ? settled.reason : null
}
