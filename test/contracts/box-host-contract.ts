/**
 * What every host of boxes keeps. The commands are those that each of them knows: `echo`, `exit`,
 * `sleep` and, with something to read, `cat`; what only real machines can do has tests of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  type BoxHandle,
  BoxGone,
  type BoxHost,
  type BoxPlan,
  BoxRequestRejected,
  type CommandOptions,
  type SandboxId,
} from "../../adapters/sandbox/boxhost/port.ts"

/** A host, as the suite needs it. */
export interface BoxHostFixture {
  readonly host: BoxHost
  /** A second program on the same machine, with the same boxes. */
  readonly otherHost: BoxHost
  /** A plan of a box that nobody else has: the smallest size and a lease of some minutes. */
  readonly plan: () => BoxPlan
  /** Lets so much time go by for the boxes, milliseconds. */
  readonly advance: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** What a suite is given: `absent` says why it cannot run here; null where it can. */
export interface BoxHostSuiteOptions {
  readonly unavailableReason: string | null
  readonly open: () => Promise<BoxHostFixture>
}

const OPTIONS: CommandOptions = { timeoutMs: 60_000, maxOutputBytes: 1_000, isActivity: true }

/** What a shell makes of a line. */
const shell = (line: string): readonly string[] => ["sh", "-c", line]

/** What an output says, as text. */
const text = (output: Uint8Array): string => Buffer.from(output).toString()

async function* pieces(...parts: readonly string[]): AsyncIterable<Uint8Array> {
  for (const part of parts) yield Buffer.from(part)
}

/** What a promise was rejected with. */
async function rejectedWith(promise: Promise<unknown>): Promise<unknown> {
  const [settled] = await Promise.allSettled([promise])
  return settled?.status === "rejected" ? settled.reason : null
}

/** The suite. */
export function boxHostContract(
  name: string,
  { unavailableReason, open }: BoxHostSuiteOptions,
): void {
  const needed = unavailableReason ?? "boxes can be made here"
  let fixture: BoxHostFixture
  let plan: BoxPlan
  let box: BoxHandle

  beforeAll(async () => {
    if (unavailableReason !== null) return
    fixture = await open()
    plan = fixture.plan()
    box = await fixture.host.start(plan)
  })
  afterAll(async () => {
    if (unavailableReason === null) await fixture.close()
  })

  describe(`a box of ${name}`, () => {
    it("runs a command and tells what it wrote and how it ended", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const said = await box.run(shell("echo hello"), OPTIONS)
      expect({ ...said, stdout: text(said.stdout), stderr: text(said.stderr) }).toEqual({
        exitCode: 0,
        stdout: "hello\n",
        stderr: "",
        isTruncated: { stdout: false, stderr: false },
        isTimedOut: false,
      })
      expect(await box.run(shell("exit 7"), OPTIONS)).toMatchObject({ exitCode: 7 })
    })

    it("gives a command what it is to read", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const read = await box.run(["cat"], { ...OPTIONS, stdin: pieces("one ", "two") })
      expect([read.exitCode, text(read.stdout)]).toEqual([0, "one two"])
    })

    it("keeps the beginning of what a command writes, and says that there was more", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const cut = await box.run(shell("echo abcdef"), { ...OPTIONS, maxOutputBytes: 3 })
      expect([text(cut.stdout), cut.isTruncated]).toEqual(["abc", { stdout: true, stderr: false }])
    })

    it("keeps the end of what a command writes as well, where it is asked to", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const ends = { ...OPTIONS, maxOutputBytes: 3, keptOutput: "ends" } as const
      const cut = await box.run(shell("echo abcdefghij"), ends)
      expect([text(cut.stdout), cut.isTruncated]).toEqual([
        "abc\n[5 bytes were left out here]\nij\n",
        { stdout: true, stderr: false },
      ])
      const whole = await box.run(shell("echo abcde"), ends)
      expect([text(whole.stdout), whole.isTruncated.stdout]).toEqual(["abcde\n", false])
    })

    it("is among all that runs, as what is no box is", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const boxId = `app_${fixture.plan().boxId.slice(4)}` as const
      const app = await fixture.host.start({ ...fixture.plan(), boxId, size: "preview" })
      expect(await fixture.otherHost.listSandboxes()).toEqual(
        expect.arrayContaining([plan.boxId, boxId]),
      )
      expect(await fixture.otherHost.listBoxes()).not.toContain(boxId)
      await app.stop()
      expect(await fixture.otherHost.listSandboxes()).not.toContain(boxId)
    })

    it("ends a command whose time is over", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const ran = box.run(shell("sleep 600"), { ...OPTIONS, timeoutMs: 200 })
      await fixture.advance(200)
      expect(await ran).toMatchObject({ exitCode: 124, isTimedOut: true })
    })

    it("runs no command in a folder that is not there", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const ran = box.run(shell("echo no"), { ...OPTIONS, cwd: "no/such/folder" })
      expect(await rejectedWith(ran)).toBeInstanceOf(BoxRequestRejected)
      expect(await rejectedWith(box.spawn("echo no", "no/such/folder"))).toBeInstanceOf(
        BoxRequestRejected,
      )
    })

    it("counts what keeps it from being idle, and nothing else", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const before = await box.readHealth()
      await box.run(shell("echo read"), { ...OPTIONS, isActivity: false })
      await box.listProcesses()
      expect((await box.readHealth()).activities).toBe(before.activities)
      await box.run(shell("echo work"), OPTIONS)
      expect((await box.readHealth()).activities).toBeGreaterThan(before.activities)
    })

    it("is busy while somebody waits for a command", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      expect(await box.readHealth()).toMatchObject({ isBusy: false })
      const ran = box.run(shell("sleep 600"), { ...OPTIONS, timeoutMs: 1_500 })
      await expect.poll(async () => (await box.readHealth()).isBusy).toBe(true)
      await fixture.advance(1_500)
      expect(await ran).toMatchObject({ isTimedOut: true })
      expect(await box.readHealth()).toMatchObject({ isBusy: false })
    })

    it("answers null for a port that nobody listens on", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      expect(await box.connectToPort(9)).toBeNull()
    })
  })

  describe(`processes in a box of ${name}`, () => {
    it("run in the background and are listed, the first first", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const slow = await box.spawn("sleep 600")
      const quick = await box.spawn("exit 3")
      expect(slow).toMatchObject({ command: "sleep 600", status: "running", exitCode: null })
      const known = async () =>
        (await box.listProcesses())
          .filter(({ id }) => id === slow.id || id === quick.id)
          .map(({ id, status, exitCode }) => [id, status, exitCode])
      await expect.poll(known).toEqual([
        [slow.id, "running", null],
        [quick.id, "exited", 3],
      ])
      expect(slow.pid).toBeGreaterThan(1)
      expect(await box.stopProcess(slow.id)).toBe(true)
    })

    it("keep what they write", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const { id } = await box.spawn("echo out")
      await expect.poll(() => box.readLogs(id)).toEqual({ stdout: "out\n", stderr: "" })
      expect(await box.readLogs("no-such-process")).toBeNull()
    })

    it("are stopped once, and stopping again is no error", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const { id } = await box.spawn("sleep 600")
      expect(await box.stopProcess(id)).toBe(true)
      const status = async () => (await box.listProcesses()).find((one) => one.id === id)?.status
      await expect.poll(status).toBe("exited")
      expect(await box.stopProcess(id)).toBe(true)
      expect(await box.stopProcess("no-such-process")).toBe(false)
    })
  })

  describe(`boxes of ${name}`, () => {
    it("are found by every program on the machine, and made once", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const { otherHost, host } = fixture
      expect(await host.hasRoom(plan.size)).toBe(true)
      expect(await otherHost.listBoxes()).toContain(plan.boxId)
      const { id } = await box.spawn("sleep 600")
      const again = await otherHost.start(plan)
      expect((await again.listProcesses()).map((one) => one.id)).toContain(id)
      const found = await otherHost.find(plan.boxId)
      expect(await found?.stopProcess(id)).toBe(true)
    })

    it("are null where there is none", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      expect(await fixture.host.find(fixture.plan().boxId)).toBeNull()
    })

    it("live as long as their lease, which is extended from now on", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const { otherHost, host, advance } = fixture
      const other = fixture.plan()
      const short = await host.start(other)
      const first = (await short.readHealth()).leaseLeftMs
      expect(first).toBeLessThanOrEqual(other.leaseMs)
      await short.extend(other.leaseMs * 2)
      expect((await short.readHealth()).leaseLeftMs).toBeGreaterThan(first)
      await short.extend(50)
      await advance(50)
      await expect.poll(() => otherHost.find(other.boxId)).toBeNull()
      await expectEnded(short, other.boxId)
    })

    it("are gone once they are stopped, with what ran in them", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const other = fixture.plan()
      const stopped = await fixture.host.start(other)
      const ran = rejectedWith(stopped.run(shell("sleep 600"), OPTIONS))
      await expect.poll(async () => (await stopped.readHealth()).isBusy).toBe(true)
      await stopped.stop()
      expect(await ran).toBeInstanceOf(BoxGone)
      expect(await fixture.host.find(other.boxId)).toBeNull()
      await expectEnded(stopped, other.boxId)
    })
  })

  /** Nothing can be asked of a box any more, nobody lists it, and stopping it again is nothing. */
  async function expectEnded(ended: BoxHandle, boxId: SandboxId): Promise<void> {
    expect(await rejectedWith(ended.run(shell("echo"), OPTIONS))).toBeInstanceOf(BoxGone)
    expect(await rejectedWith(ended.readHealth())).toBeInstanceOf(BoxGone)
    expect(await rejectedWith(ended.extend(1_000))).toBeInstanceOf(BoxGone)
    await ended.stop()
    expect(await fixture.otherHost.listBoxes()).not.toContain(boxId)
  }
}
