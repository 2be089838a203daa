/** The disk of the embedded PostgreSQL is full for a while: nothing is lost, and service resumes. */
import { execFileSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { afterEach, expect, it } from "vitest"
import { makeDataFolder } from "../support/server-process.ts"
import { RECOVERY_LIMIT_MS, newTextKeys, senderOverHttp, startTextLoad } from "./text-load.ts"
import { makeSender, expectSoundLedger } from "./charge-audit.ts"
import { startSupervised } from "./supervised-server.ts"
import { scaledMs } from "../support/scaled-time.ts"

const TEXTS = 200
const DISK_MEGABYTES = 400

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** Mounts a small disk in memory and returns its folder; null if this user may not mount one. */
function mountSmallDisk(): string | null {
  if (process.platform !== "linux" || process.geteuid?.() !== 0) return null
  const folder = mkdtempSync(join(tmpdir(), "small-disk-"))
  closing.push(() => rmSync(folder, { recursive: true }))
  try {
    const size = `size=${DISK_MEGABYTES}m`
    execFileSync("mount", ["-t", "tmpfs", "-o", size, "none", folder], { stdio: "pipe" })
  } catch {
    // A container may lack the right to mount.
    return null
  }
  closing.push(() => void execFileSync("umount", ["--lazy", folder]))
  return folder
}

/** Fills a disk to the last byte. @returns a function that frees the space */
function fill(disk: string): () => void {
  const path = join(disk, "filler")
  const file = openSync(path, "w")
  for (let chunkBytes = 1024 * 1024; chunkBytes >= 1; chunkBytes = Math.floor(chunkBytes / 2)) {
    for (let isFull = false; !isFull;) {
      try {
        isFull = writeSync(file, Buffer.alloc(chunkBytes)) < chunkBytes
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error
        isFull = true
      }
    }
  }
  closeSync(file)
  return () => rmSync(path)
}

it("acknowledges only stored texts while the disk is full, and serves again afterwards", async (ctx) => {
  const disk = mountSmallDisk()
  if (disk === null) return ctx.skip("only root can make a small disk, where mounting is allowed")
  const folder = await makeDataFolder({ LEDGER_DATA_DIR: join(disk, "data"), RATE_LIMITS: "off" })
  closing.push(folder.removeFiles)
  const server = await startSupervised(folder)
  const sender = await makeSender(server)

  const load = startTextLoad(newTextKeys(TEXTS), senderOverHttp(server.address, sender.key))
  await load.untilAcknowledged(20)
  const freeSpace = fill(disk)
  const refusals = () => (load.otherStatuses.get(503) ?? 0) + (load.otherStatuses.get(0) ?? 0)
  await expect.poll(refusals).toBeGreaterThan(0)
  expect(load.acknowledged.size).toBeLessThan(TEXTS)
  const before = new Map(load.acknowledged)
  const freedAt = performance.now()
  freeSpace()
  await load.done
  expect(load.recoveredAfterMs(freedAt)).toBeLessThan(scaledMs(RECOVERY_LIMIT_MS))
  for (const [name, id] of before) expect(load.acknowledged.get(name)).toBe(id)
  await server.operate("wait")
  await expectSoundLedger(server, { ...sender, acknowledged: load.acknowledged })
  expect(await server.stop()).toBe(0)
})
