/** The built-in boxes: what runs in them, how they end, and what they can be told to do. */
import { request } from "node:http"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { beforeEach, describe, expect, it } from "vitest"
import type { BuiltInMachine } from "../../adapters/providers/boxhost/built-in.ts"
import { PAGE } from "../../adapters/providers/boxhost/built-in-page.ts"
import { bringCode } from "../../adapters/providers/boxhost/code.ts"
import { readFile, writeFile } from "../../adapters/providers/boxhost/files.ts"
import type { Box, Ran, RunOptions } from "../../adapters/providers/boxhost/port.ts"
import { BoxGone, BoxRefused, WORKSPACE } from "../../adapters/providers/boxhost/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { OPTIONS, PLAN, openBoxes, sh } from "./built-in-boxes.ts"

let boxes: ReturnType<typeof openBoxes>
let box: Box
beforeEach(async () => {
  boxes = openBoxes()
  box = await boxes.host.start(PLAN)
})

const saidBy = ({ exitCode, stdout, stderr }: Ran) => [
  exitCode,
  Buffer.from(stdout).toString("utf8"),
  Buffer.from(stderr).toString("utf8"),
]
const run = async (command: string, more: Partial<RunOptions> = {}) =>
  saidBy(await box.run(sh(command), { ...OPTIONS, ...more }))

describe("a command in a built-in box", () => {
  it.each([
    ["echo hello", [0, "hello\n", ""]],
    [`echo 'a  b' "c \${BOX_ID}" $BOX_ID '$BOX_ID' \\;`, [0, "a  b c box_1 box_1 $BOX_ID ;\n", ""]],
    ["exit 3", [3, "", ""]],
    ["echo a; exit 4; echo b", [4, "a\n", ""]],
    ["false && echo a || echo b", [0, "b\n", ""]],
    ["true\npwd", [0, `${WORKSPACE}\n`, ""]],
    ["echo a > f && echo b >> f && cat f", [0, "a\nb\n", ""]],
    ["mkdir -p a/b && echo c > a/b/c && ls a", [0, "b\n", ""]],
    ["make all", [127, "", "sh: make: not found\n"]],
    ["toString", [127, "", "sh: toString: not found\n"]],
    ["echo a | cat", [2, "", 'sh: "|" is not known here\n']],
  ])("says of %j %j", async (command, said) => {
    expect(await run(command)).toEqual(said)
  })

  it("is given its input, and the folder that it is run in", async () => {
    const stdin = (async function* () {
      yield Buffer.from("to be read")
    })()
    expect(await run("cat", { stdin })).toEqual([0, "to be read", ""])
    expect(await run("pwd", { cwd: "/tmp" })).toEqual([0, "/tmp\n", ""])
    const nowhere = box.run(sh("pwd"), { ...OPTIONS, cwd: "nowhere" })
    await expect(nowhere).rejects.toThrow(
      new BoxRefused("folder", "There is no folder nowhere in the box."),
    )
  })

  it("is ended after its time", async () => {
    const running = box.run(sh("sleep 5; sleep 6; echo late"), OPTIONS)
    await boxes.nextPause()
    boxes.waiting[0]?.end()
    await boxes.nextPause()
    boxes.waiting[1]?.end()
    const ran = await running
    expect(boxes.waiting.map(({ ms }) => ms)).toEqual([5_000, 5_000])
    expect([ran.exitCode, ran.isTimedOut, saidBy(ran)[1]]).toEqual([124, true, ""])
  })

  it("has so much of its output kept, and says that there was more", async () => {
    const ran = await box.run(sh("echo 123456"), { ...OPTIONS, mostBytes: 4 })
    expect(saidBy(ran)).toEqual([0, "1234", ""])
    expect(ran.isCut).toEqual({ stdout: true, stderr: false })
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
  it("is listed with its logs, and can be stopped", async () => {
    const begun = await box.spawn("echo begun; echo $BOX_ID > here; sleep 100")
    expect(begun).toMatchObject({ id: "proc_1", command: expect.any(String), status: "running" })
    await expect.poll(() => box.logs("proc_1")).toEqual({ stdout: "begun\n", stderr: "" })
    expect(await run("cat here")).toEqual([0, "box_1\n", ""])
    expect(await box.stopProcess("proc_1")).toBe(true)
    expect(await box.processes()).toEqual([{ ...begun, status: "exited", exitCode: 137 }])
    expect(await box.stopProcess("proc_1")).toBe(true)
    expect(await box.stopProcess("proc_2")).toBe(false)
    expect(await box.logs("proc_2")).toBeNull()
  })

  it("ends with its own code", async () => {
    await box.spawn("echo oh > /dev/nowhere/x; exit 7")
    await expect.poll(() => box.processes()).toMatchObject([{ status: "exited", exitCode: 7 }])
    const logs = await box.logs("proc_1")
    expect(logs?.stderr).toContain("cannot create /dev/nowhere/x")
  })

  it("answers at its port with a page, until it is stopped", async () => {
    await box.spawn("serve 3000")
    const connection = await box.dial(3000)
    expect(await box.dial(3001)).toBeNull()
    expect(await pageOf(connection)).toBe(`${PAGE}<p>4 bytes were sent</p>\n`)
    const idle = await box.dial(3000)
    await box.stopProcess("proc_1")
    expect(idle?.destroyed).toBe(true)
    expect(await box.dial(3000)).toBeNull()
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

describe("the life of a built-in box", () => {
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
    // Who waits for a command hears of it.
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

  it("is begun once for an id, and anew where it has ended", async () => {
    await run("echo kept > kept")
    box = await boxes.host.start(PLAN)
    expect(await run("cat kept")).toEqual([0, "kept\n", ""])
    await box.stop()
    box = await boxes.host.start(PLAN)
    expect(await run("ls")).toEqual([0, "", ""])
  })

  it("is found by every host of its machine, and by no other", async () => {
    const machine: BuiltInMachine = new Map()
    await openBoxes(machine).host.start(PLAN)
    const found = await openBoxes(machine).host.find("box_1")
    expect(saidBy((await found?.run(sh("pwd"), OPTIONS)) as Ran)).toEqual([
      0,
      "/workspace/repo\n",
      "",
    ])
    expect(await openBoxes().host.find("box_1")).toBeNull()
  })
})

describe("a host of boxes that is told to fail", () => {
  const none = { pack: (async function* () {})(), branch: "main", tip: null, person: null }

  it.each(["full", "down"])("has no room when it is %s, and all else works", async (outcome) => {
    await boxes.tell(outcome, 1)
    expect(await run("true")).toEqual([0, "", ""])
    expect(await boxes.host.hasRoom("small")).toBe(false)
    expect(await boxes.host.hasRoom("small")).toBe(true)
  })

  it("lets git fail alone where clones fail", async () => {
    await boxes.tell("clone-fails", 1)
    expect(await boxes.host.hasRoom("small")).toBe(true)
    expect(await writeFile(box, "a", Buffer.from("a"))).toEqual({ ok: true })
    expect(await bringCode(box, none)).toBe("fatal: git was told to fail")
    expect(await bringCode(box, none)).toBeNull()
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

  it("does nothing where it is unavailable, and says nothing of what it did where it is silent", async () => {
    await boxes.tell("unavailable", 1)
    await expect(run("echo a > a")).rejects.toThrow(ProviderUnavailable)
    await boxes.tell("silent", 1)
    await expect(run("echo b > b")).rejects.toThrow(ProviderSilent)
    expect(await run("ls")).toEqual([0, "b\n", ""])
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
