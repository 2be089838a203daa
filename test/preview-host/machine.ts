/** Real previews for tests, where this machine can make them. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import type { BubblewrapOptions } from "../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
import { piecesOf } from "../../adapters/sandbox/boxhost/code-scripts.ts"
import {
  type SandboxedOptions,
  openSandboxedPreviews,
} from "../../adapters/sandbox/preview-host/sandboxed.ts"
import { type CompanyId, tagOf } from "../../domain/kernel/ids.ts"
import { absent, openHosts, skipWhere } from "../boxhost/machine.ts"

/** Two programs with the same previews, and what takes all of it away. */
export type Previews = Awaited<ReturnType<typeof openPreviews>>

/** Previews in folders of their own. */
export async function openPreviews(
  settings: Partial<BubblewrapOptions> = {},
  more: Partial<SandboxedOptions> = {},
) {
  const boxes = await openHosts(settings)
  const dir = mkdtempSync(join(tmpdir(), "previews-"))
  const base = { dir, pacer: machinePacer, readOut: piecesOf, ...more }
  /** One more program with these previews, set otherwise. */
  const open = (set: Partial<SandboxedOptions> = {}, boxHost = boxes.host) =>
    openSandboxedPreviews({ ...base, boxHost, ...set })
  const close = async () => {
    for (const id of await boxes.host.sandboxes()) await (await boxes.host.find(id))?.stop()
    await boxes.close()
    rmSync(dir, { recursive: true })
  }
  return { boxes, dir, host: open(), another: open({}, boxes.another), open, close }
}

/** The same for the calling test file, at its top level. Its tests are skipped where there can be none. */
export async function ownPreviews(more: Partial<SandboxedOptions> = {}): Promise<Previews> {
  skipWhere(absent)
  if (absent !== null) return {} as Previews
  const previews = await openPreviews({}, more)
  afterAll(previews.close)
  return previews
}

/** Kills the keeper of a company's sandbox; resolves when that has gone, a moment after it fell silent. */
export async function killKeeper({ boxes }: Previews, companyId: CompanyId): Promise<void> {
  const box = `app_${tagOf(companyId)}` as const
  const record = readFileSync(join(boxes.runDir, "records", `${box}.json`), "utf8")
  const { keeper } = JSON.parse(record) as { keeper: { pid: number } }
  process.kill(keeper.pid, "SIGKILL")
  await expect.poll(() => boxes.another.find(box)).toBeNull()
}

/** Every loop device that holds a file of a folder. */
export const loopsOf = (folder: string): readonly string[] =>
  spawnSync("losetup", ["-l", "-n", "-O", "BACK-FILE"], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((file) => file.startsWith(folder))
