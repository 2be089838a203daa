/** Simulated boxes: their answers, their end, and the failures that can be set. */
import { request } from "node:http"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { beforeEach, describe, expect, it } from "vitest"
import type { SimulatedBoxes } from "../../adapters/sandbox/boxhost/simulator.ts"
import {
  NOT_RUN_OUTPUT,
  SIMULATED_PAGE_TITLE,
} from "../../adapters/sandbox/boxhost/simulated-box.ts"
import { checkOutInBox, commitInBox } from "../../adapters/sandbox/boxhost/code-transfer.ts"
import {
  listBoxFolder,
  readBoxFile,
  writeBoxFile,
} from "../../adapters/sandbox/boxhost/box-files.ts"
import type {
  BoxHandle,
  CommandResult,
  CommandOptions,
} from "../../adapters/sandbox/boxhost/port.ts"
import { BoxGone, BoxRequestRejected } from "../../adapters/sandbox/boxhost/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import {
  SIMULATED_RUN_OPTIONS,
  SAMPLE_BOX_PLAN,
  openSimulatedBoxes,
  shellCommand,
} from "./simulated-boxes.ts"

let boxes: ReturnType<typeof openSimulatedBoxes>
let box: BoxHandle
beforeEach(async () => {
  boxes = openSimulatedBoxes()
  box = await boxes.host.start(SAMPLE_BOX_PLAN)
})

const outputOf = ({ exitCode, stdout }: CommandResult) => [
  exitCode,
  Buffer.from(stdout).toString("utf8"),
]
const run = async (command: string, more: Partial<CommandOptions> = {}) =>
  outputOf(await box.run(shellCommand(command), { ...SIMULATED_RUN_OPTIONS, ...more }))

const NO_CODE = { pack: (async function* () {})(), branch: "main", tip: null, identity: null }
const COMMIT = {
  branch: "main",
  base: null,
  message: "More",
  author: { name: "A", email: "a@b.c" },
}

describe("a command in a simulated box", () => {
  it.each([
    ["echo hello  there", [0, "hello  there\n"]],
    ["exit 3", [3, ""]],
    ["make all && exit 3", [0, NOT_RUN_OUTPUT]],
  ])("has a simulated output: %j", async (command, output) => {
    expect(await run(command)).toEqual(output)
    expect(outputOf(await box.runShell(command, SIMULATED_RUN_OPTIONS))).toEqual(output)
  })

  it("runs in an existing folder", async () => {
    expect(await run("true", { cwd: "/tmp" })).toEqual([0, NOT_RUN_OUTPUT])
    const nowhere = box.run(shellCommand("pwd"), { ...SIMULATED_RUN_OPTIONS, cwd: "nowhere" })
    await expect(nowhere).rejects.toThrow(
      new BoxRequestRejected("folder", "The folder nowhere does not exist in the box."),
    )
  })

  it("is ended at its timeout", async () => {
    const running = box.run(shellCommand("sleep 11"), SIMULATED_RUN_OPTIONS)
    await boxes.nextPause()
    boxes.waiting[0]?.end()
    expect(await running).toMatchObject({ exitCode: 124, isTimedOut: true })
    expect(boxes.waiting.map(({ ms }) => ms)).toEqual([10_000])
  })

  it("keeps its box from being idle if it is an activity", async () => {
    await run("true", { isActivity: false })
    expect(await box.readHealth()).toMatchObject({ activities: 0, isBusy: false })
    const running = box.run(shellCommand("sleep 1"), SIMULATED_RUN_OPTIONS)
    await boxes.nextPause()
    expect(await box.readHealth()).toMatchObject({ activities: 1, isBusy: true })
    boxes.waiting[0]?.end()
    await running
    expect(await box.readHealth()).toMatchObject({ activities: 1, isBusy: false })
  })
})

describe("a background command", () => {
  it("ends with its exit code", async () => {
    await box.spawn("exit 7")
    await box.spawn("sleep 5")
    expect(await box.listProcesses()).toMatchObject([
      { id: "proc_1", command: "exit 7", status: "exited", exitCode: 7 },
      { id: "proc_2", command: "sleep 5", status: "running", exitCode: null },
    ])
    boxes.waiting[0]?.end()
    await expect.poll(() => box.listProcesses()).toMatchObject([{}, { exitCode: 0 }])
  })

  it("is rejected beyond the limit", async () => {
    for (let i = 0; i < 32; i += 1) await box.spawn("sleep infinity")
    await expect(box.spawn("sleep infinity")).rejects.toThrow(BoxRequestRejected)
  })

  it("serves a page on its port until it is stopped", async () => {
    await box.spawn("serve 3000")
    expect(await box.readLogs("proc_1")).toEqual({ stdout: "Serving on port 3000\n", stderr: "" })
    const connection = await box.connectToPort(3000)
    expect(await box.connectToPort(3001)).toBeNull()
    const page = await pageOf(connection)
    expect(page).toContain(SIMULATED_PAGE_TITLE)
    expect(page).toContain("4 bytes were sent")
    const idle = await box.connectToPort(3000)
    await box.stopProcess("proc_1")
    expect(idle?.destroyed).toBe(true)
    expect(await box.connectToPort(3000)).toBeNull()
    expect(await box.listProcesses()).toMatchObject([{ status: "exited", exitCode: 137 }])
  })
})

async function pageOf(connection: Duplex | null): Promise<string> {
  if (connection === null) return ""
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = { method: "POST", createConnection: () => connection }
  const outgoing = request(options, (answer) => void text(answer).then(resolve, reject))
  outgoing.on("error", reject).end("four")
  return promise
}

it("a simulated box accepts code and makes no commit", async () => {
  expect(await checkOutInBox(box, NO_CODE)).toBeNull()
  await writeBoxFile(box, "a", Buffer.from("a"))
  expect(await commitInBox(box, COMMIT)).toEqual({ outcome: "nothing" })
})

describe("a simulated box", () => {
  it("ends with its lease, by the ledger's clock, unless the lease is extended", async () => {
    const running = box.run(shellCommand("sleep 1"), SIMULATED_RUN_OPTIONS)
    boxes.time.now += 59_999
    expect(await box.readHealth()).toMatchObject({ leaseLeftMs: 1, network: "slirp" })
    await box.extend(1_000)
    boxes.time.now += 999
    expect(await boxes.host.listBoxes()).toEqual(["box_1"])
    boxes.time.now += 1
    expect(await boxes.host.find("box_1")).toBeNull()
    expect(await boxes.host.listBoxes()).toEqual([])
    await expect(running).rejects.toThrow(BoxGone)
    await expect(box.readHealth()).rejects.toThrow(new BoxGone("box_1 has ended"))
  })

  it("ends when it is stopped; a second stop does nothing", async () => {
    await box.spawn("serve 3000")
    const connection = await box.connectToPort(3000)
    await box.stop()
    await box.stop()
    expect(connection?.destroyed).toBe(true)
    expect(await boxes.host.find("box_1")).toBeNull()
    await expect(box.run(shellCommand("true"), SIMULATED_RUN_OPTIONS)).rejects.toThrow(BoxGone)
  })

  it("starts once for an id, and again after it has ended", async () => {
    await writeBoxFile(box, "kept", Buffer.from("kept"))
    box = await boxes.host.start(SAMPLE_BOX_PLAN)
    expect(await readBoxFile(box, "kept", 10)).toEqual({ ok: true, bytes: Buffer.from("kept") })
    await box.stop()
    box = await boxes.host.start(SAMPLE_BOX_PLAN)
    expect(await listBoxFolder(box, "", { hidden: true })).toMatchObject({ entries: [] })
  })

  it("is found by every host on its machine, and by no other", async () => {
    const machine: SimulatedBoxes = new Map()
    await openSimulatedBoxes(machine).host.start(SAMPLE_BOX_PLAN)
    const found = await openSimulatedBoxes(machine).host.find("box_1")
    expect(await found?.readHealth()).toMatchObject({ isBusy: false })
    expect(await openSimulatedBoxes().host.find("box_1")).toBeNull()
  })
})

describe("a box host that is set to fail", () => {
  it.each(["full", "down"])(
    "has no room when it is %s, and everything else works",
    async (outcome) => {
      await boxes.setOutcome(outcome, 1)
      expect(await run("true")).toEqual([0, NOT_RUN_OUTPUT])
      expect(await boxes.host.hasRoom("small")).toBe(false)
      expect(await boxes.host.hasRoom("small")).toBe(true)
    },
  )

  it("fails only git when it is clone-fails", async () => {
    await boxes.setOutcome("clone-fails", 1)
    expect(await boxes.host.hasRoom("small")).toBe(true)
    expect(await writeBoxFile(box, "a", Buffer.from("a"))).toEqual({ ok: true })
    expect(await checkOutInBox(box, NO_CODE)).toBe("fatal: git is set to fail")
    expect(await checkOutInBox(box, NO_CODE)).toBeNull()
  })

  it("loses the box that is searched when it is lost", async () => {
    await boxes.setOutcome("lost", 1)
    expect(await boxes.host.listBoxes()).toEqual(["box_1"])
    expect(await boxes.host.find("box_1")).toBeNull()
    await boxes.setOutcome("ok")
    await expect(box.readHealth()).rejects.toThrow(BoxGone)
  })

  it("loses the box that is called when it is lost", async () => {
    await boxes.setOutcome("lost", 1)
    await expect(readBoxFile(box, "a", 1)).rejects.toThrow(new BoxGone("box_1 was lost"))
    expect(await boxes.host.find("box_1")).toBeNull()
  })

  it("does nothing when it is unavailable, and acts without an answer when it is silent", async () => {
    await boxes.setOutcome("unavailable", 1)
    await expect(writeBoxFile(box, "a", Buffer.from("a"))).rejects.toThrow(ProviderUnavailable)
    await boxes.setOutcome("silent", 1)
    await expect(writeBoxFile(box, "b", Buffer.from("b"))).rejects.toThrow(ProviderOutcomeUnknown)
    const listed = await listBoxFolder(box, "", { hidden: true })
    expect(listed).toMatchObject({ entries: [{ name: "b", size: 1 }] })
  })

  it("waits when it is slow", async () => {
    await boxes.setOutcome("slow", 1)
    const listed = boxes.host.listBoxes()
    await boxes.nextPause()
    expect(boxes.waiting.map(({ ms }) => ms)).toEqual([2_000])
    boxes.waiting[0]?.end()
    expect(await listed).toEqual(["box_1"])
  })
})
