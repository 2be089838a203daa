/** Real previews for tests, if this machine can make sandboxes. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { BubblewrapOptions } from "../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
import { readAndDeleteFile } from "../../adapters/sandbox/boxhost/code-scripts.ts"
import {
  type SandboxedPreviewOptions,
  openSandboxedPreviews,
} from "../../adapters/sandbox/preview-host/sandboxed-previews.ts"
import { type CompanyId, tagOfId } from "../../domain/kernel/ids.ts"
import { noSandboxReason, openSandboxHosts, skipTestsBecause } from "../boxhost/sandbox-hosts.ts"

/** Two programs with the same previews, and a cleanup function. */
export type SandboxPreviews = Awaited<ReturnType<typeof openSandboxPreviews>>

/** Opens two programs with the same previews in new folders. */
export async function openSandboxPreviews(
  settings: Partial<BubblewrapOptions> = {},
  more: Partial<SandboxedPreviewOptions> = {},
) {
  const boxes = await openSandboxHosts(settings)
  const dir = mkdtempSync(join(tmpdir(), "previews-"))
  const base = {
    volumesFolder: dir,
    pacer: machinePacer,
    readAndDelete: readAndDeleteFile,
    ...more,
  }
  /** Opens another program with the same previews and other settings. */
  const open = (set: Partial<SandboxedPreviewOptions> = {}, boxHost = boxes.host) =>
    openSandboxedPreviews({ ...base, boxHost, ...set })
  const close = async () => {
    for (const id of await boxes.host.listSandboxes()) await (await boxes.host.find(id))?.stop()
    await boxes.close()
    rmSync(dir, { recursive: true })
  }
  return { boxes, dir, host: open(), another: open({}, boxes.another), open, close }
}

/** Opens previews for the calling file, at its top level; its tests are skipped without sandboxes. */
export async function ownSandboxPreviews(
  more: Partial<SandboxedPreviewOptions> = {},
): Promise<SandboxPreviews> {
  skipTestsBecause(noSandboxReason)
  if (noSandboxReason !== null) return {} as SandboxPreviews
  const previews = await openSandboxPreviews({}, more)
  afterAll(previews.close)
  return previews
}

/** Kills the box agent of a company's sandbox; resolves when the sandbox has ended. */
export async function killBoxAgent(
  { boxes }: SandboxPreviews,
  companyId: CompanyId,
): Promise<void> {
  const box = `app_${tagOfId(companyId)}` as const
  const record = readFileSync(join(boxes.runDir, "records", `${box}.json`), "utf8")
  const { keeper } = JSON.parse(record) as { keeper: { pid: number } }
  process.kill(keeper.pid, "SIGKILL")
  await expect.poll(() => boxes.another.find(box)).toBeNull()
}

/** The files of a folder that loop devices use. */
export const loopDevicesOf = (folder: string): readonly string[] =>
  spawnSync("losetup", ["-l", "-n", "-O", "BACK-FILE"], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((file) => file.startsWith(folder))
