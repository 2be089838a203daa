/** Builds that do what they like: each has an answer, and nothing of them is left behind. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import type { PreviewHost, Recipe } from "../../adapters/providers/preview-host/port.ts"
import { ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { absent, errorOf } from "../boxhost/machine.ts"
import { counted, read } from "./asking.ts"
import { loopsOf, ownPreviews } from "./machine.ts"
import { buildOf } from "./plans.ts"

const previews = await ownPreviews()
/** One that waits for three seconds only. */
let hasty: PreviewHost
beforeAll(async () => {
  if (absent !== null) return
  hasty = previews.open({ times: { buildMs: 3_000 } })
})
const FILES = { "dist/index.html": "one" }
const build = (script: string, more: Partial<Recipe> = {}, host: PreviewHost = previews.host) =>
  host.build(buildOf(FILES, { build: script, ...more }), read)

const text = (log: Buffer): string => log.toString("utf8")

describe("a build", () => {
  it("installs, then builds, in its root with its variables", async () => {
    const said = await previews.host.build(
      buildOf(
        { "app/a": "one" },
        {
          root: "app",
          env: { WORD: "a 'word' $HOME" },
          install: 'echo "$WORD"; echo bad >&2; echo two > b',
          build: "pwd; mkdir dist && cat a b > dist/c",
        },
      ),
      read,
    )
    expect(said).toMatchObject({ ok: true, kept: { c: "onetwo\n" } })
    expect(text(said.log)).toBe("a 'word' $HOME\nbad\n/workspace/repo/app\n")
  })

  it.for([
    [
      "install",
      { install: "echo no; exit 3", build: "echo never" },
      "What installs ended with 3.",
      "no\n",
    ],
    ["build", { install: "echo yes", build: "exit 4" }, "The build ended with 4.", "yes\n"],
    ["root", { root: "app" }, "The commit has no folder app.", ""],
  ] as const)("says what its %s failed with", async ([, recipe, why, log]) => {
    const said = await previews.host.build(buildOf(FILES, recipe), read)
    expect({ ...said, log: text(said.log) }).toEqual({ ok: false, why, log })
  })

  it("is ended when its time is over, and tells what it wrote until then", async () => {
    const said = await build("echo begun; sleep 600", {}, hasty)
    expect(said).toMatchObject({ ok: false, why: expect.stringMatching(/^The build took longer/) })
    expect(text(said.log)).toBe("begun\n")
  })

  it.for([
    ["a bomb of processes", "b() { b | b & }; b; sleep 60", /^The build (took longer|ended with)/],
    ["a bomb that it leaves behind", "b() { b | b & }; b", /./],
    [
      "a disk that is full",
      "head -c 6G /dev/zero > big1; head -c 6G /dev/zero > big2",
      /^The build/,
    ],
    [
      "a disk that is full, quietly",
      "head -c 5M /dev/urandom > dist/big; cat /dev/zero > /tmp/x; cat /dev/zero > /tmp/y; true",
      /no room on its disk/,
    ],
    ["its root taken away", "rm -rf /workspace/repo", /^The build left no folder dist\.$/],
    ["a link as its folder", "rm -r dist; ln -s /etc dist", /^The build made dist a link/],
    ["a file as its folder", "rm -r dist; echo > dist", /^The build left dist as no folder/],
    ["more than may be kept", "head -c 501000000 /dev/zero > dist/big", /^There is more in dist/],
    [
      "more memory than it may",
      "exec python3 -c 'x = [bytearray(1 << 24) for _ in range(200)]'",
      /^The build ended with (137|1)/,
    ],
    ["its own end", "kill -9 -1; kill -9 1", /^The build ended with 137/],
  ] as const)("comes to nothing with %s", async ([, script, why]) => {
    const isBomb = script.startsWith("b()")
    const said = await build(script, {}, isBomb ? hasty : previews.host)
    // A bomb may have left itself no room; where it has, what was there is handed on.
    if (script === "b() { b | b & }; b" && said.ok)
      expect(said.kept).toEqual({ "index.html": "one" })
    else expect(said).toMatchObject({ ok: false, why: expect.stringMatching(why) })
  })

  it("with more files than its disk has room for comes to nothing", async () => {
    const said = await build(
      `python3 -c 'for n in range(1_000_000): open(f"dist/{n}", "w").close()'`,
    )
    expect(said).toMatchObject({
      ok: false,
      why: expect.stringMatching(/^The build ended with 1/),
    })
  })

  it("that prints 300 MB has its beginning and its end", async () => {
    const said = await build("echo first; head -c 300M /dev/zero | tr '\\0' x; echo; echo last")
    expect(said.ok).toBe(true)
    const log = text(said.log)
    expect(log.length).toBeLessThan(2 * 1024 * 1024 + 100)
    expect([log.startsWith("first\nx"), log.endsWith("x\nlast\n")]).toEqual([true, true])
    expect(log).toMatch(/x\n\[\d{9} bytes were left out here\]\nx/)
  })

  it("hands links and pipes on as what they are, and not what they lead to", async () => {
    const script = "cd dist; ln -s /etc/passwd link; mkfifo pipe; ln -s / root"
    expect(await build(script)).toMatchObject({ ok: true, kept: { "index.html": "one" } })
  })

  it("leaves no process behind that could change what it built", async () => {
    const loop = "while :; do date >> dist/index.html; done"
    expect(await build(`setsid sh -c '${loop}' > /dev/null 2>&1 &`)).toMatchObject({ ok: true })
  })

  it("of 100 MB is handed on in pieces", async () => {
    const plan = buildOf(FILES, { build: "head -c 100M /dev/urandom > dist/big" })
    const said = await previews.host.build(plan, counted)
    expect(said.ok ? said.kept : 0).toBeGreaterThan(100 * 1024 * 1024)
  })

  it("is ended when nobody waits for it any more", async () => {
    const leaving = new AbortController()
    const plan = buildOf(FILES, { build: "sleep 600" }, { signal: leaving.signal })
    const built = errorOf(previews.host.build(plan, read))
    const boxId = `build_${plan.publishId.slice(4)}` as const
    await expect.poll(() => previews.boxes.host.find(boxId)).not.toBeNull()
    leaving.abort(new Error("nobody waits"))
    expect(await built).toMatchObject({ message: "nobody waits" })
  })

  it("is begun anew where who began it has died", async () => {
    const plan = buildOf(FILES, { build: "[ ! -e /workspace/repo/begun ]" })
    const boxId = `build_${plan.publishId.slice(4)}` as const
    const left = await previews.boxes.host.start({
      boxId,
      companyId: plan.companyId,
      size: "build",
      leaseMs: 60_000,
      environment: {},
    })
    await left.spawn("touch begun; sleep 600")
    expect(await previews.host.build(plan, read)).toMatchObject({ ok: true })
  })

  it("whose sandbox is taken away is nobody's fault", async () => {
    const plan = buildOf(FILES, { build: "sleep 600" })
    const built = errorOf(previews.host.build(plan, read))
    const boxId = `build_${plan.publishId.slice(4)}` as const
    await expect.poll(() => previews.boxes.host.find(boxId)).not.toBeNull()
    await (await previews.boxes.host.find(boxId))?.stop()
    expect(await built).toBeInstanceOf(ProviderUnavailable)
  })
  it("leaves nothing, however it ended", async () => {
    const { host, runDir } = previews.boxes
    const left = ["records", "slots", "boxes", "images", "logs"].flatMap((name) =>
      readdirSync(join(runDir, name)),
    )
    expect([left, await host.sandboxes(), await host.sweep()]).toEqual([[], [], []])
    // The kernel writes what is in its memory before it lets a disk go.
    await expect.poll(() => loopsOf(runDir), { timeout: 30_000 }).toEqual([])
  })
})
