/** Real previews for tests, where this machine can make them. */
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

/** Two programs with the same previews, and what takes all of it away. */
export type SandboxPreviews = Awaited<ReturnType<typeof openSandboxPreviews>>

/** Previews in folders of their own. */
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
  /** One more program with these previews, set otherwise. */
  const open = (set: Partial<SandboxedPreviewOptions> = {}, boxHost = boxes.host) =>
    openSandboxedPreviews({ ...base, boxHost, ...set })
  const close = async () => {
    for (const id of await boxes.host.listSandboxes()) await (await boxes.host.find(id))?.stop()
    await boxes.close()
    rmSync(dir, { recursive: true })
  }
  return { boxes, dir, host: open(), another: open({}, boxes.another), open, close }
}

/** The same for the calling test file, at its top level. Its tests are skipped where there can be none. */
export async function ownSandboxPreviews(
  more: Partial<SandboxedPreviewOptions> = {},
): Promise<SandboxPreviews> {
  skipTestsBecause(noSandboxReason)
  if (noSandboxReason !== null) return {} as SandboxPreviews
  const previews = await openSandboxPreviews({}, more)
  afterAll(previews.close)
  return previews
}

/** Kills the keeper of a company's sandbox; resolves when that has gone, a moment after it fell silent. */
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

/** Every loop device that holds a file of a folder. */
export const loopDevicesOf = (folder: string): readonly string[] =>
  spawnSync("losetup", ["-l", "-n", "-O", "BACK-FILE"], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((file) => file.startsWith(folder))
