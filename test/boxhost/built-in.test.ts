/** Simulated boxes: what they answer, how they end, and how they are set to fail. */
import { request } from "node:http"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { beforeEach, describe, expect, it } from "vitest"
import type { BuiltInMachine } from "../../adapters/sandbox/boxhost/built-in.ts"
import { NOT_RUN, PAGE_TITLE } from "../../adapters/sandbox/boxhost/built-in-box.ts"
import { bringCode, takeCode } from "../../adapters/sandbox/boxhost/code.ts"
import { listFiles, readFile, writeFile } from "../../adapters/sandbox/boxhost/files.ts"
import type { Box, Ran, RunOptions } from "../../adapters/sandbox/boxhost/port.ts"
import { BoxGone, BoxRefused } from "../../adapters/sandbox/boxhost/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { OPTIONS, PLAN, openBoxes, sh } from "./built-in-boxes.ts"

let boxes: ReturnType<typeof openBoxes>
let box: Box
beforeEach(async () => {
  boxes = openBoxes()
  box = await boxes.host.start(PLAN)
})

const saidBy = ({ exitCode, stdout }: Ran) => [exitCode, Buffer.from(stdout).toString("utf8")]
const run = async (command: string, more: Partial<RunOptions> = {}) =>
  saidBy(await box.run(sh(command), { ...OPTIONS, ...more }))

const NO_CODE = { pack: (async function* () {})(), branch: "main", tip: null, person: null }
const TAKEN = { branch: "main", base: null, message: "More", author: { name: "A", email: "a@b.c" } }

describe("a command in a simulated box", () => {
  it.each([
    ["echo hello  there", [0, "hello  there\n"]],
    ["exit 3", [3, ""]],
    ["make all && exit 3", [0, NOT_RUN]],
  ])("has an answer of its own or that of all others: %j", async (command, said) => {
    expect(await run(command)).toEqual(said)
    expect(saidBy(await box.shell(command, OPTIONS))).toEqual(said)
  })

  it("runs in a folder that is there", async () => {
    expect(await run("true", { cwd: "/tmp" })).toEqual([0, NOT_RUN])
    const nowhere = box.run(sh("pwd"), { ...OPTIONS, cwd: "nowhere" })
    await expect(nowhere).rejects.toThrow(
      new BoxRefused("folder", "There is no folder nowhere in the box."),
    )
  })

  it("is ended after its time", async () => {
    const running = box.run(sh("sleep 11"), OPTIONS)
    await boxes.nextPause()
    boxes.waiting[0]?.end()
    expect(await running).toMatchObject({ exitCode: 124, isTimedOut: true })
    expect(boxes.waiting.map(({ ms }) => ms)).toEqual([10_000])
  })

  it("keeps its box from being idle where it is an activity", async () => {
    await run("true", { activity: false })
    expect(await box.hello()).toMatchObject({ activities: 0, isBusy: false })
    const running = box.run(sh("sleep 1"), OPTIONS)
    await boxes.nextPause()
    expect(await box.hello()).toMatchObject({ activities: 1, isBusy: true })
    boxes.waiting[0]?.end()
    await running
    expect(await box.hello()).toMatchObject({ activities: 1, isBusy: false })
  })
})

describe("a command in the background", () => {
  it("ends by itself with its own code", async () => {
    await box.spawn("exit 7")
    await box.spawn("sleep 5")
    expect(await box.processes()).toMatchObject([
      { id: "proc_1", command: "exit 7", status: "exited", exitCode: 7 },
      { id: "proc_2", command: "sleep 5", status: "running", exitCode: null },
    ])
    boxes.waiting[0]?.end()
    await expect.poll(() => box.processes()).toMatchObject([{}, { exitCode: 0 }])
  })

  it("is refused where as many run as may", async () => {
    for (let i = 0; i < 32; i += 1) await box.spawn("sleep infinity")
    await expect(box.spawn("sleep infinity")).rejects.toThrow(BoxRefused)
  })

  it("answers at its port with a page until it is stopped", async () => {
    await box.spawn("serve 3000")
    expect(await box.logs("proc_1")).toEqual({ stdout: "Serving on port 3000\n", stderr: "" })
    const connection = await box.dial(3000)
    expect(await box.dial(3001)).toBeNull()
    const page = await pageOf(connection)
    expect(page).toContain(PAGE_TITLE)
    expect(page).toContain("4 bytes were sent")
    const idle = await box.dial(3000)
    await box.stopProcess("proc_1")
    expect(idle?.destroyed).toBe(true)
    expect(await box.dial(3000)).toBeNull()
    expect(await box.processes()).toMatchObject([{ status: "exited", exitCode: 137 }])
  })
})

async function pageOf(connection: Duplex | null): Promise<string> {
  if (connection === null) return ""
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = { method: "POST", createConnection: () => connection }
  const sent = request(options, (answer) => void text(answer).then(resolve, reject))
  sent.on("error", reject).end("four")
  return promise
}

it("a simulated box takes code and gives none out", async () => {
  expect(await bringCode(box, NO_CODE)).toBeNull()
  await writeFile(box, "a", Buffer.from("a"))
  expect(await takeCode(box, TAKEN)).toEqual({ is: "nothing" })
})

describe("the life of a simulated box", () => {
  it("ends with its lease, by the ledger's clock, unless that is extended", async () => {
    const running = box.run(sh("sleep 1"), OPTIONS)
    boxes.time.now += 59_999
    expect(await box.hello()).toMatchObject({ leaseLeftMs: 1, network: "slirp" })
    await box.extend(1_000)
    boxes.time.now += 999
    expect(await boxes.host.list()).toEqual(["box_1"])
    boxes.time.now += 1
    expect(await boxes.host.find("box_1")).toBeNull()
    expect(await boxes.host.list()).toEqual([])
    await expect(running).rejects.toThrow(BoxGone)
    await expect(box.hello()).rejects.toThrow(new BoxGone("box_1 has ended"))
  })

  it("ends when it is stopped, and again means nothing", async () => {
    await box.spawn("serve 3000")
    const connection = await box.dial(3000)
    await box.stop()
    await box.stop()
    expect(connection?.destroyed).toBe(true)
    expect(await boxes.host.find("box_1")).toBeNull()
    await expect(box.run(sh("true"), OPTIONS)).rejects.toThrow(BoxGone)
  })

  it("begins once for an id, and again where it has ended", async () => {
    await writeFile(box, "kept", Buffer.from("kept"))
    box = await boxes.host.start(PLAN)
    expect(await readFile(box, "kept", 10)).toEqual({ ok: true, bytes: Buffer.from("kept") })
    await box.stop()
    box = await boxes.host.start(PLAN)
    expect(await listFiles(box, "", { hidden: true })).toMatchObject({ entries: [] })
  })

  it("is found by every host of its machine, and by no other", async () => {
    const machine: BuiltInMachine = new Map()
    await openBoxes(machine).host.start(PLAN)
    const found = await openBoxes(machine).host.find("box_1")
    expect(await found?.hello()).toMatchObject({ isBusy: false })
    expect(await openBoxes().host.find("box_1")).toBeNull()
  })
})

describe("a host of boxes that is set to fail", () => {
  it.each(["full", "down"])("has no room when it is %s, and all else works", async (outcome) => {
    await boxes.tell(outcome, 1)
    expect(await run("true")).toEqual([0, NOT_RUN])
    expect(await boxes.host.hasRoom("small")).toBe(false)
    expect(await boxes.host.hasRoom("small")).toBe(true)
  })

  it("lets git fail alone where clones fail", async () => {
    await boxes.tell("clone-fails", 1)
    expect(await boxes.host.hasRoom("small")).toBe(true)
    expect(await writeFile(box, "a", Buffer.from("a"))).toEqual({ ok: true })
    expect(await bringCode(box, NO_CODE)).toBe("fatal: git was told to fail")
    expect(await bringCode(box, NO_CODE)).toBeNull()
  })

  it("loses the box that is looked for", async () => {
    await boxes.tell("lost", 1)
    expect(await boxes.host.list()).toEqual(["box_1"])
    expect(await boxes.host.find("box_1")).toBeNull()
    await boxes.tell("ok")
    await expect(box.hello()).rejects.toThrow(BoxGone)
  })

  it("loses the box that something is asked of", async () => {
    await boxes.tell("lost", 1)
    await expect(readFile(box, "a", 1)).rejects.toThrow(new BoxGone("box_1 was lost"))
    expect(await boxes.host.find("box_1")).toBeNull()
  })

  it("does nothing where it is unavailable, and hides what it did where it is silent", async () => {
    await boxes.tell("unavailable", 1)
    await expect(writeFile(box, "a", Buffer.from("a"))).rejects.toThrow(ProviderUnavailable)
    await boxes.tell("silent", 1)
    await expect(writeFile(box, "b", Buffer.from("b"))).rejects.toThrow(ProviderSilent)
    const listed = await listFiles(box, "", { hidden: true })
    expect(listed).toMatchObject({ entries: [{ name: "b", size: 1 }] })
  })

  it("waits where it is slow", async () => {
    await boxes.tell("slow", 1)
    const asked = boxes.host.list()
    await boxes.nextPause()
    expect(boxes.waiting.map(({ ms }) => ms)).toEqual([2_000])
    boxes.waiting[0]?.end()
    expect(await asked).toEqual(["box_1"])
  })
})
