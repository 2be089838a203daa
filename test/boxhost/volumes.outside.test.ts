/** Volumes: what lies in them is there again, whoever their sandbox's user is; and no more than may be. */
import { spawnSync } from "node:child_process"
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import type { BoxPlaces } from "../../adapters/providers/boxhost/bubblewrap/run-folder.ts"
import type { Machine } from "../../adapters/providers/boxhost/bubblewrap/settings.ts"
import { hideVolume, makeVolume } from "../../adapters/providers/boxhost/bubblewrap/volume.ts"
import type { BoxPlan } from "../../adapters/providers/boxhost/port.ts"
import { ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { errorOf, isRoot, newPlan, ownHosts, sh } from "./machine.ts"

const MEBIBYTE = 1024 * 1024

const dir = mkdtempSync(join(tmpdir(), "volumes-"))
afterAll(() => rmSync(dir, { recursive: true }))
const hosts = await ownHosts()

const planOf = (name: string): BoxPlan => ({
  ...newPlan({ boxId: `app_${name}`, size: "preview", network: "none" }),
  volume: { path: join(dir, name), bytes: 64 * MEBIBYTE, parts: {} },
})

describe("a volume", () => {
  it("is there again for another user, whatever lies in it", async () => {
    const plan = planOf("again")
    const box = await hosts.host.start(plan)
    expect((await box.hello()).network).toBe("none")
    const write = "mkdir -m 700 a && echo one > a/b && ln -s /etc/passwd link && chmod 400 a/b"
    expect((await sh(box, write, { cwd: "/data" })).exitCode).toBe(0)
    await box.stop()
    const others = await hosts.open(isRoot ? { firstUid: 2_900_000 } : {})
    const again = await others.start(plan)
    const said = await sh(again, "id -u; stat -c %u a a/b link; cat a/b; mv a c", { cwd: "/data" })
    expect(said).toMatchObject({ exitCode: 0, stdout: "1000\n1000\n1000\n1000\none\n" })
    await again.stop()
    for (const host of [others, hosts.host]) await host.removeVolume(plan.volume?.path ?? "")
    expect(readdirSync(dir)).toEqual([])
  })

  it("is seen by nobody but its sandbox", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user's lies in a folder")
    const box = await hosts.host.start(planOf("seen"))
    await sh(box, "echo secret > /data/secret")
    expect(readdirSync(join(dir, "seen"))).toEqual(["image"])
    expect(readdirSync(join(hosts.runDir, "boxes", "app_seen", "volume"))).toEqual([])
    const neighbour = await hosts.host.start(newPlan())
    expect((await sh(neighbour, "ls -d /data")).exitCode).not.toBe(0)
    for (const one of [box, neighbour]) await one.stop()
  })

  it("goes out of sight also while somebody reads a file of it", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user mounts nothing")
    const [path, volume] = [join(dir, "read"), join(dir, "mounted")]
    const wanted = { path, bytes: 64 * MEBIBYTE, uid: 2_900_001 }
    const machine = { lacks: () => false } as unknown as Machine
    const places = { volume } as BoxPlaces
    expect(await makeVolume(machine, places, wanted)).toBe("image")
    writeFileSync(join(volume, "file"), "one")
    const file = openSync(join(volume, "file"), "r")
    onTestFinished(() => {
      closeSync(file)
      // Where it is still there: a mount would keep the end of the run waiting.
      spawnSync("umount", ["--quiet", "--lazy", volume])
    })
    await hideVolume(places)
    expect(readdirSync(volume)).toEqual([])
  })

  it("has no more in it than it may", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user's is looked at now and then")
    const box = await hosts.host.start(planOf("full"))
    const said = await sh(box, "head -c 100M /dev/zero > /data/big; stat -c %s /data/big")
    expect(Number(said.stdout)).toBeLessThan(64 * MEBIBYTE)
    await box.stop()
  })

  it("that cannot be mounted any more is not taken for an empty one", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user mounts nothing")
    const plan = planOf("torn")
    await (await hosts.host.start(plan)).stop()
    // Where images cannot be made, those that there are go on being used.
    const poor = await hosts.open({ without: ["images"] })
    await (await poor.start(plan)).stop()
    writeFileSync(join(dir, "torn", "image"), "torn")
    const refused = await errorOf(poor.start(plan))
    expect(refused).toBeInstanceOf(ProviderUnavailable)
    expect(String(refused)).toMatch(/the volume .* cannot be mounted: /)
    expect(readdirSync(join(dir, "torn"))).toEqual(["image"])
  })
})
