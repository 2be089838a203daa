/** What boxes may use at most, and what lies in volumes: one that wants everything gets its share. */
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
 * Both boxes do what they are told: the neighbour without having noticed anything, the other one as soon as
 * what was ended in it is also gone.
 */
async function expectBothWell(): Promise<void> {
  expect(await runShell(neighbour, "echo well")).toMatchObject(WELL)
  await expect.poll(() => runShell(box, "echo well")).toMatchObject(WELL)
}

/** Takes all processes that there may be, also those that become free later, and keeps them. */
const FILLING = `python3 -c '
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    except BlockingIOError: time.sleep(0.01)
'`

/** Fills the box until a command is told that there is no room; answers what fills it. */
async function fill(): Promise<string> {
  let id = ""
  const refused = async () => {
    const isFilling = (await box.listProcesses()).some(
      (one) => one.id === id && one.exitCode === null,
    )
    // What was ended before may still have had its places.
    if (!isFilling) ({ id } = await box.spawn(FILLING))
    const said = await runShell(box, "true")
    return [said.exitCode, /could not be started/.test(said.stderr)]
  }
  await expect.poll(refused).toEqual([126, true])
  return id
}

describe("a box that wants more than its share", () => {
  it.for([
    { bomb: "plain", line: "b() { b | b & }; b; sleep 60" },
    {
      bomb: "of sessions of their own",
      line: "echo 'setsid sh b & setsid sh b & sleep 9' > b; sh b; sleep 60",
    },
  ])("ends its processes: a bomb $bomb", async ({ line }) => {
    const bomb = runShell(box, line, { timeoutMs: 2_500 })
    for (let count = 0; count < 5; count += 1) {
      expect((await runShell(neighbour, "echo well")).stdout).toBe("well\n")
    }
    expect(await bomb).toMatchObject({ isTimedOut: true })
    await expect.poll(async () => (await runShell(box, "echo again")).stdout).toBe("again\n")
    await expectBothWell()
  })

  it("is told so while it has no room for a command", async () => {
    const id = await fill()
    await box.stopProcess(id)
    await expectBothWell()
  })

  it("ends what takes its memory, and nothing else", async () => {
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

  it("has no more shared memory than it may", async () => {
    const said = await runShell(
      box,
      "head -c 200M /dev/zero > /dev/shm/big; stat -c %s /dev/shm/big; rm /dev/shm/big",
    )
    expect(Number(said.stdout)).toBe(64 * 1024 * 1024)
    await expectBothWell()
  })

  it("has no larger file than it may, and no more room on its disk", async () => {
    const sparse = await runShell(box, "truncate -s 3G sparse")
    expect(sparse.exitCode).not.toBe(0)
    const line =
      "fallocate -l 1500M one && { fallocate -l 1500M two; df --output=avail /tmp | tail -1; }; rm -f one two"
    const said = await runShell(box, line)
    expect(Number(said.stdout)).toBeLessThan(600_000)
    await expectBothWell()
  })

  it("leaves nothing behind, however it was filled", async () => {
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
  it("is there again for another user, whatever lies in it", async () => {
    const plan = planOf("again")
    const volumed = await hosts.host.start(plan)
    expect((await volumed.readHealth()).network).toBe("none")
    const write = "mkdir -m 700 a && echo one > a/b && ln -s /etc/passwd link && chmod 400 a/b"
    expect((await runShell(volumed, write, { cwd: "/data" })).exitCode).toBe(0)
    await volumed.stop()
    const others = await hosts.open(isRoot ? { firstUid: 2_900_000 } : {})
    const again = await others.start(plan)
    const said = await runShell(again, "id -u; stat -c %u a a/b link; cat a/b; mv a c", {
      cwd: "/data",
    })
    expect(said).toMatchObject({ exitCode: 0, stdout: "1000\n1000\n1000\n1000\none\n" })
    await again.stop()
    for (const host of [others, hosts.host]) await host.removeVolume(plan.volume?.path ?? "")
    expect(readdirSync(dir)).toEqual([])
  })

  it("is seen by nobody but its sandbox", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user's lies in a folder")
    const volumed = await hosts.host.start(planOf("seen"))
    await runShell(volumed, "echo secret > /data/secret")
    expect(readdirSync(join(dir, "seen"))).toEqual(["image"])
    expect(readdirSync(join(hosts.runDir, "boxes", "app_seen", "volume"))).toEqual([])
    const another = await hosts.host.start(newBoxPlan())
    expect((await runShell(another, "ls -d /data")).exitCode).not.toBe(0)
    for (const one of [volumed, another]) await one.stop()
  })

  it("goes out of sight also while somebody reads a file of it", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user mounts nothing")
    const [path, volume] = [join(dir, "read"), join(dir, "mounted")]
    const wanted = { path, bytes: 64 * MEBIBYTE, uid: 2_900_001 }
    const machine = partialFake<BubblewrapContext>({ isDisabled: () => false })
    const places = { volume } as BoxPaths
    expect(await makeVolume(machine, places, wanted)).toBe("image")
    writeFileSync(join(volume, "file"), "one")
    const file = openSync(join(volume, "file"), "r")
    onTestFinished(() => {
      closeSync(file)
      // Where it is still there: a mount would keep the end of the run waiting.
      spawnSync("umount", ["--quiet", "--lazy", volume])
    })
    await detachVolume(places)
    expect(readdirSync(volume)).toEqual([])
  })

  it("has no more in it than it may", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user's is looked at now and then")
    const volumed = await hosts.host.start(planOf("full"))
    const said = await runShell(volumed, "head -c 100M /dev/zero > /data/big; stat -c %s /data/big")
    expect(Number(said.stdout)).toBeLessThan(64 * MEBIBYTE)
    await volumed.stop()
  })

  it("that cannot be mounted any more is not taken for an empty one", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user mounts nothing")
    const plan = planOf("torn")
    await (await hosts.host.start(plan)).stop()
    // Where images cannot be made, those that there are go on being used.
    const poor = await hosts.open({ disabledCapabilities: ["images"] })
    await (await poor.start(plan)).stop()
    writeFileSync(join(dir, "torn", "image"), "torn")
    const refused = await rejectionOf(poor.start(plan))
    expect(refused).toBeInstanceOf(ProviderUnavailable)
    expect(String(refused)).toMatch(/the volume .* cannot be mounted: /)
    expect(readdirSync(join(dir, "torn"))).toEqual(["image"])
  })
})
