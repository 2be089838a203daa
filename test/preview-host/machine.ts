/** Real previews for tests, where this machine can make them. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import type { BubblewrapOptions } from "../../adapters/providers/boxhost/bubblewrap/bubblewrap.ts"
import { piecesOf } from "../../adapters/providers/boxhost/pieces.ts"
import type { PreviewHost } from "../../adapters/providers/preview-host/port.ts"
import {
  type SandboxedOptions,
  openSandboxedPreviews,
} from "../../adapters/providers/preview-host/sandboxed.ts"
import { type CompanyId, tagOf } from "../../domain/kernel/ids.ts"
import { type Hosts, openHosts } from "../boxhost/machine.ts"

/** Two programs with the same previews, and what takes all of it away. */
export interface Previews {
  readonly boxes: Hosts
  readonly dir: string
  readonly host: PreviewHost
  readonly another: PreviewHost
  /** One more program with these previews, set otherwise. */
  readonly open: (more?: Partial<SandboxedOptions>) => PreviewHost
  readonly close: () => Promise<void>
}

/** Previews in folders of their own. */
export async function openPreviews(
  settings: Partial<BubblewrapOptions> = {},
  more: Partial<SandboxedOptions> = {},
): Promise<Previews> {
  const boxes = await openHosts(settings)
  const dir = mkdtempSync(join(tmpdir(), "previews-"))
  const base = { dir, pacer: machinePacer, readOut: piecesOf, ...more }
  const open = (set: Partial<SandboxedOptions> = {}, boxHost = boxes.host) =>
    openSandboxedPreviews({ ...base, boxHost, ...set })
  const close = async () => {
    for (const id of await boxes.host.sandboxes()) await (await boxes.host.find(id))?.stop()
    await boxes.close()
    rmSync(dir, { recursive: true })
  }
  return { boxes, dir, host: open(), another: open({}, boxes.another), open, close }
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
