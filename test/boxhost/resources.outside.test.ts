/** What boxes may use at most: one that wants everything gets its share, and its neighbour notices nothing. */
import { beforeAll, describe, expect, it } from "vitest"
import type { Box } from "../../adapters/providers/boxhost/port.ts"
import { absent, newPlan, ownHosts, sh } from "./machine.ts"

const hosts = await ownHosts()
let box: Box
let neighbour: Box
beforeAll(async () => {
  if (absent !== null) return
  box = await hosts.host.start(newPlan())
  neighbour = await hosts.host.start(newPlan())
})

const WELL = { exitCode: 0, stdout: "well\n" }

/**
 * Both boxes do what they are told: the neighbour without having noticed anything, the other one as soon as
 * what was ended in it is also gone.
 */
async function expectBothWell(): Promise<void> {
  expect(await sh(neighbour, "echo well")).toMatchObject(WELL)
  await expect.poll(() => sh(box, "echo well")).toMatchObject(WELL)
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
    const isFilling = (await box.processes()).some((one) => one.id === id && one.exitCode === null)
    // What was ended before may still have had its places.
    if (!isFilling) ({ id } = await box.spawn(FILLING))
    const said = await sh(box, "true")
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
    const bomb = sh(box, line, { timeoutMs: 2_500 })
    for (let count = 0; count < 5; count += 1) {
      expect((await sh(neighbour, "echo well")).stdout).toBe("well\n")
    }
    expect(await bomb).toMatchObject({ isTimedOut: true })
    await expect.poll(async () => (await sh(box, "echo again")).stdout).toBe("again\n")
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
    const hog = await sh(box, "exec python3 -c 'x = [bytearray(1 << 24) for _ in range(200)]'")
    expect([137, 1]).toContain(hog.exitCode)
    const known = await box.processes()
    expect(known.find(({ id }) => id === other.id)?.status).toBe("running")
    await expectBothWell()
  })

  it("has no more shared memory than it may", async () => {
    const said = await sh(
      box,
      "head -c 200M /dev/zero > /dev/shm/big; stat -c %s /dev/shm/big; rm /dev/shm/big",
    )
    expect(Number(said.stdout)).toBe(64 * 1024 * 1024)
    await expectBothWell()
  })

  it("has no larger file than it may, and no more room on its disk", async () => {
    const sparse = await sh(box, "truncate -s 3G sparse")
    expect(sparse.exitCode).not.toBe(0)
    const line =
      "fallocate -l 1500M one && { fallocate -l 1500M two; df --output=avail /tmp | tail -1; }; rm -f one two"
    const said = await sh(box, line)
    expect(Number(said.stdout)).toBeLessThan(600_000)
    await expectBothWell()
  })

  it("leaves nothing behind, however it was filled", async () => {
    const deep = `python3 -c '
import os
for _ in range(3000): os.mkdir("d" * 200); os.chdir("d" * 200)
'`
    expect((await sh(box, deep)).exitCode).toBe(0)
    await sh(box, "mkdir many; cd many; seq 20000 | xargs touch; chmod 0 .", { timeoutMs: 20_000 })
    await fill()
    await box.stop()
    expect((await sh(neighbour, "echo well")).stdout).toBe("well\n")
    expect(await hosts.host.list()).toEqual([neighbour.boxId])
    expect(await hosts.host.sweep()).toEqual([])
  })
})
