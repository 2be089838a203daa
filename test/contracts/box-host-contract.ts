/**
 * The contract of every box host. It uses commands that every host has: `echo`, `exit`, `sleep` and, with
 * standard input, `cat`. Features that only real machines have are tested separately.
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

export interface BoxHostFixture {
  readonly host: BoxHost
  /** A second program on the same machine, with the same boxes. */
  readonly otherHost: BoxHost
  /** A plan of a new box, with the smallest size and a lease of some minutes. */
  readonly plan: () => BoxPlan
  /** Advances the time of the boxes by milliseconds. */
  readonly advance: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Options of the suite: `unavailableReason` says why it cannot run here; null if it can. */
export interface BoxHostSuiteOptions {
  readonly unavailableReason: string | null
  readonly open: () => Promise<BoxHostFixture>
}

const OPTIONS: CommandOptions = { timeoutMs: 60_000, maxOutputBytes: 1_000, isActivity: true }

/** The arguments that run a line in a shell. */
const shell = (line: string): readonly string[] => ["sh", "-c", line]

const text = (output: Uint8Array): string => Buffer.from(output).toString()

async function* pieces(...parts: readonly string[]): AsyncIterable<Uint8Array> {
  for (const part of parts) yield Buffer.from(part)
}

/** The reason of a rejected promise; null if it resolved. */
async function rejectedWith(promise: Promise<unknown>): Promise<unknown> {
  const [settled] = await Promise.allSettled([promise])
  return settled?.status === "rejected" ? settled.reason : null
}

/** Adds the suite for one host. */
export function boxHostContract(
  name: string,
  { unavailableReason, open }: BoxHostSuiteOptions,
): void {
  const skipReason = unavailableReason ?? "boxes can be made here"
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
    it("runs a command and returns its output and exit code", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const result = await box.run(shell("echo hello"), OPTIONS)
      expect({ ...result, stdout: text(result.stdout), stderr: text(result.stderr) }).toEqual({
        exitCode: 0,
        stdout: "hello\n",
        stderr: "",
        isTruncated: { stdout: false, stderr: false },
        isTimedOut: false,
      })
      expect(await box.run(shell("exit 7"), OPTIONS)).toMatchObject({ exitCode: 7 })
    })

    it("passes standard input to a command", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const read = await box.run(["cat"], { ...OPTIONS, stdin: pieces("one ", "two") })
      expect([read.exitCode, text(read.stdout)]).toEqual([0, "one two"])
    })

    it("truncates a command's output, and says so", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const truncated = await box.run(shell("echo abcdef"), { ...OPTIONS, maxOutputBytes: 3 })
      expect([text(truncated.stdout), truncated.isTruncated]).toEqual([
        "abc",
        { stdout: true, stderr: false },
      ])
    })

    it("keeps the beginning and the end of an output if requested", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const keepEnds = { ...OPTIONS, maxOutputBytes: 3, keptOutput: "ends" } as const
      const truncated = await box.run(shell("echo abcdefghij"), keepEnds)
      expect([text(truncated.stdout), truncated.isTruncated]).toEqual([
        "abc\n[5 bytes were left out here]\nij\n",
        { stdout: true, stderr: false },
      ])
      const complete = await box.run(shell("echo abcde"), keepEnds)
      expect([text(complete.stdout), complete.isTruncated.stdout]).toEqual(["abcde\n", false])
    })

    it("is listed among the sandboxes, together with those that are not boxes", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const boxId = `app_${fixture.plan().boxId.slice(4)}` as const
      const app = await fixture.host.start({ ...fixture.plan(), boxId, size: "preview" })
      expect(await fixture.otherHost.listSandboxes()).toEqual(
        expect.arrayContaining([plan.boxId, boxId]),
      )
      expect(await fixture.otherHost.listBoxes()).not.toContain(boxId)
      await app.stop()
      expect(await fixture.otherHost.listSandboxes()).not.toContain(boxId)
    })

    it("ends a command that exceeds its timeout", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const running = box.run(shell("sleep 600"), { ...OPTIONS, timeoutMs: 200 })
      await fixture.advance(200)
      expect(await running).toMatchObject({ exitCode: 124, isTimedOut: true })
    })

    it("rejects a command in a missing folder", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const running = box.run(shell("echo no"), { ...OPTIONS, cwd: "no/such/folder" })
      expect(await rejectedWith(running)).toBeInstanceOf(BoxRequestRejected)
      expect(await rejectedWith(box.spawn("echo no", "no/such/folder"))).toBeInstanceOf(
        BoxRequestRejected,
      )
    })

    it("counts only activities that keep it from being idle", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const before = await box.readHealth()
      await box.run(shell("echo read"), { ...OPTIONS, isActivity: false })
      await box.listProcesses()
      expect((await box.readHealth()).activities).toBe(before.activities)
      await box.run(shell("echo work"), OPTIONS)
      expect((await box.readHealth()).activities).toBeGreaterThan(before.activities)
    })

    it("is busy while a caller waits for a command", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      expect(await box.readHealth()).toMatchObject({ isBusy: false })
      const running = box.run(shell("sleep 600"), { ...OPTIONS, timeoutMs: 1_500 })
      await expect.poll(async () => (await box.readHealth()).isBusy).toBe(true)
      await fixture.advance(1_500)
      expect(await running).toMatchObject({ isTimedOut: true })
      expect(await box.readHealth()).toMatchObject({ isBusy: false })
    })

    it("returns null for a port without a listener", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      expect(await box.connectToPort(9)).toBeNull()
    })
  })

  describe(`processes in a box of ${name}`, () => {
    it("run in the background and are listed, oldest first", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
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

    it("have logs of their output", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const { id } = await box.spawn("echo out")
      await expect.poll(() => box.readLogs(id)).toEqual({ stdout: "out\n", stderr: "" })
      expect(await box.readLogs("no-such-process")).toBeNull()
    })

    it("can be stopped twice without an error", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const { id } = await box.spawn("sleep 600")
      expect(await box.stopProcess(id)).toBe(true)
      const status = async () => (await box.listProcesses()).find((one) => one.id === id)?.status
      await expect.poll(status).toBe("exited")
      expect(await box.stopProcess(id)).toBe(true)
      expect(await box.stopProcess("no-such-process")).toBe(false)
    })
  })

  describe(`boxes of ${name}`, () => {
    it("are found by every program on the machine, and created once", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const { otherHost, host } = fixture
      expect(await host.hasRoom(plan.size)).toBe(true)
      expect(await otherHost.listBoxes()).toContain(plan.boxId)
      const { id } = await box.spawn("sleep 600")
      const again = await otherHost.start(plan)
      expect((await again.listProcesses()).map((one) => one.id)).toContain(id)
      const found = await otherHost.find(plan.boxId)
      expect(await found?.stopProcess(id)).toBe(true)
    })

    it("are null if they do not exist", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      expect(await fixture.host.find(fixture.plan().boxId)).toBeNull()
    })

    it("end with their lease, which an extension counts from now", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
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

    it("end when they are stopped, with their commands", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const other = fixture.plan()
      const stopped = await fixture.host.start(other)
      const running = rejectedWith(stopped.run(shell("sleep 600"), OPTIONS))
      await expect.poll(async () => (await stopped.readHealth()).isBusy).toBe(true)
      await stopped.stop()
      expect(await running).toBeInstanceOf(BoxGone)
      expect(await fixture.host.find(other.boxId)).toBeNull()
      await expectEnded(stopped, other.boxId)
    })
  })

  /** Expects that requests to the box fail, that it is not listed, and that stopping it again succeeds. */
  async function expectEnded(ended: BoxHandle, boxId: SandboxId): Promise<void> {
    expect(await rejectedWith(ended.run(shell("echo"), OPTIONS))).toBeInstanceOf(BoxGone)
    expect(await rejectedWith(ended.readHealth())).toBeInstanceOf(BoxGone)
    expect(await rejectedWith(ended.extend(1_000))).toBeInstanceOf(BoxGone)
    await ended.stop()
    expect(await fixture.otherHost.listBoxes()).not.toContain(boxId)
  }
}
