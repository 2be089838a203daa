/** Limits of boxes and of volumes: a box that takes everything gets only its share. */
import { spawnSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import type { BoxPaths } from "../../adapters/sandbox/boxhost/bubblewrap/run-folder.ts"
import type { BubblewrapContext } from "../../adapters/sandbox/boxhost/bubblewrap/options.ts"
import { detachVolume, makeVolume } from "../../adapters/sandbox/boxhost/bubblewrap/volume.ts"
import type { BoxHandle, BoxPlan } from "../../adapters/sandbox/boxhost/port.ts"
import {
  noSandboxReason,
  newBoxPlan,
  ownSandboxHosts,
  runShell,
  rejectionOf,
  isRoot,
} from "./sandbox-hosts.ts"
import { partialFake } from "../support/partial-fake.ts"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"

const hosts = await ownSandboxHosts()
let box: BoxHandle
let neighbour: BoxHandle
beforeAll(async () => {
  if (noSandboxReason !== null) return
  box = await hosts.host.start(newBoxPlan())
  neighbour = await hosts.host.start(newBoxPlan())
})

const WELL = { exitCode: 0, stdout: "well\n" }

/**
 * Expects that both boxes work: the neighbour without interruption, the other one once its ended processes are gone.
 */
async function expectBothWell(): Promise<void> {
  expect(await runShell(neighbour, "echo well")).toMatchObject(WELL)
  await expect.poll(() => runShell(box, "echo well")).toMatchObject(WELL)
}

/** Takes all processes that the limit allows, also those that become free later, and holds them. */
const FILLING = `python3 -c '
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    except BlockingIOError: time.sleep(0.01)
'`

/** Fills the box until a command cannot be started; returns the id of the process that fills it. */
async function fill(): Promise<string> {
  let id = ""
  const refused = async () => {
    const isFilling = (await box.listProcesses()).some(
      (one) => one.id === id && one.exitCode === null,
    )
    // Processes that were ended before may still have counted.
    if (!isFilling) ({ id } = await box.spawn(FILLING))
    const result = await runShell(box, "true")
    return [result.exitCode, /could not be started/.test(result.stderr)]
  }
  await expect.poll(refused).toEqual([126, true])
  return id
}

describe("a box that takes more than its share", () => {
  it.for([
    { bomb: "in one session", line: "b() { b | b & }; b; sleep 60" },
    {
      bomb: "with separate sessions",
      line: "echo 'setsid sh b & setsid sh b & sleep 9' > b; sh b; sleep 60",
    },
  ])("ends its processes after a fork bomb: $bomb", async ({ line }) => {
    const bomb = runShell(box, line, { timeoutMs: 2_500 })
    for (let count = 0; count < 5; count += 1) {
      expect((await runShell(neighbour, "echo well")).stdout).toBe("well\n")
    }
    expect(await bomb).toMatchObject({ isTimedOut: true })
    await expect.poll(async () => (await runShell(box, "echo again")).stdout).toBe("again\n")
    await expectBothWell()
  })

  it("rejects commands while it has no room for processes", async () => {
    const id = await fill()
    await box.stopProcess(id)
    await expectBothWell()
  })

  it("ends only the process that takes its memory", async () => {
    const other = await box.spawn("sleep 600")
    expect(other.status).toBe("running")
    const hog = await runShell(
      box,
      "exec python3 -c 'x = [bytearray(1 << 24) for _ in range(200)]'",
    )
    expect([137, 1]).toContain(hog.exitCode)
    const known = await box.listProcesses()
    expect(known.find(({ id }) => id === other.id)?.status).toBe("running")
    await expectBothWell()
  })

  it("is limited in shared memory", async () => {
    const result = await runShell(
      box,
      "head -c 200M /dev/zero > /dev/shm/big; stat -c %s /dev/shm/big; rm /dev/shm/big",
    )
    expect(Number(result.stdout)).toBe(64 * 1024 * 1024)
    await expectBothWell()
  })

  it("is limited in file size and disk space", async () => {
    const sparse = await runShell(box, "truncate -s 3G sparse")
    expect(sparse.exitCode).not.toBe(0)
    const line =
      "fallocate -l 1500M one && { fallocate -l 1500M two; df --output=avail /tmp | tail -1; }; rm -f one two"
    const result = await runShell(box, line)
    expect(Number(result.stdout)).toBeLessThan(600_000)
    await expectBothWell()
  })

  it("leaves nothing behind after it was filled", async () => {
    const deep = `python3 -c '
import os
for _ in range(3000): os.mkdir("d" * 200); os.chdir("d" * 200)
'`
    expect((await runShell(box, deep)).exitCode).toBe(0)
    await runShell(box, "mkdir many; cd many; seq 20000 | xargs touch; chmod 0 .", {
      timeoutMs: 20_000,
    })
    await fill()
    await box.stop()
    expect((await runShell(neighbour, "echo well")).stdout).toBe("well\n")
    expect(await hosts.host.listBoxes()).toEqual([neighbour.boxId])
    expect(await hosts.host.sweep()).toEqual([])
  })
})

const MEBIBYTE = 1024 * 1024

const dir = mkdtempSync(join(tmpdir(), "volumes-"))
afterAll(() => rmSync(dir, { recursive: true }))

const planOf = (name: string): BoxPlan => ({
  ...newBoxPlan({ boxId: `app_${name}`, size: "preview", network: "none" }),
  volume: { path: join(dir, name), bytes: 64 * MEBIBYTE, folderLimits: {} },
})

describe("a volume", () => {
  it("is available again for another user, with all of its files", async () => {
    const plan = planOf("again")
    const volumed = await hosts.host.start(plan)
    expect((await volumed.readHealth()).network).toBe("none")
    const write = "mkdir -m 700 a && echo one > a/b && ln -s /etc/passwd link && chmod 400 a/b"
    expect((await runShell(volumed, write, { cwd: "/data" })).exitCode).toBe(0)
    await volumed.stop()
    const otherUser = await hosts.open(isRoot ? { firstUid: 2_900_000 } : {})
    const again = await otherUser.start(plan)
    const result = await runShell(again, "id -u; stat -c %u a a/b link; cat a/b; mv a c", {
      cwd: "/data",
    })
    expect(result).toMatchObject({ exitCode: 0, stdout: "1000\n1000\n1000\n1000\none\n" })
    await again.stop()
    for (const host of [otherUser, hosts.host]) await host.removeVolume(plan.volume?.path ?? "")
    expect(readdirSync(dir)).toEqual([])
  })

  it("is visible only to its sandbox", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user's volume is a plain folder")
    const volumed = await hosts.host.start(planOf("seen"))
    await runShell(volumed, "echo secret > /data/secret")
    expect(readdirSync(join(dir, "seen"))).toEqual(["image"])
    expect(readdirSync(join(hosts.runDir, "boxes", "app_seen", "volume"))).toEqual([])
    const another = await hosts.host.start(newBoxPlan())
    expect((await runShell(another, "ls -d /data")).exitCode).not.toBe(0)
    for (const one of [volumed, another]) await one.stop()
  })

  it("is detached although a process reads one of its files", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user cannot mount")
    const [path, volume] = [join(dir, "read"), join(dir, "mounted")]
    const spec = { path, bytes: 64 * MEBIBYTE, uid: 2_900_001 }
    const machine = partialFake<BubblewrapContext>({ isDisabled: () => false })
    const paths = { volume } as BoxPaths
    expect(await makeVolume(machine, paths, spec)).toBe("image")
    writeFileSync(join(volume, "file"), "one")
    const file = openSync(join(volume, "file"), "r")
    onTestFinished(() => {
      closeSync(file)
      // A leftover mount would block the end of the run.
      spawnSync("umount", ["--quiet", "--lazy", volume])
    })
    await detachVolume(paths)
    expect(readdirSync(volume)).toEqual([])
  })

  it("is limited in size", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user's volume is only checked from time to time")
    const volumed = await hosts.host.start(planOf("full"))
    const result = await runShell(
      volumed,
      "head -c 100M /dev/zero > /data/big; stat -c %s /data/big",
    )
    expect(Number(result.stdout)).toBeLessThan(64 * MEBIBYTE)
    await volumed.stop()
  })

  it("that can no longer be mounted is not replaced by an empty one", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user cannot mount")
    const plan = planOf("torn")
    await (await hosts.host.start(plan)).stop()
    // Existing images are still used on a machine that cannot make images.
    const limited = await hosts.open({ disabledCapabilities: ["images"] })
    await (await limited.start(plan)).stop()
    writeFileSync(join(dir, "torn", "image"), "torn")
    const refused = await rejectionOf(limited.start(plan))
    expect(refused).toBeInstanceOf(ProviderUnavailable)
    expect(String(refused)).toMatch(/the volume .* cannot be mounted: /)
    expect(readdirSync(join(dir, "torn"))).toEqual(["image"])
  })
})
