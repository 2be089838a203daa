/** Commands and processes in real boxes, beyond the contract of box hosts. */
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { beforeAll, describe, expect, it } from "vitest"
import { type BoxHandle, BoxRequestRejected } from "../../adapters/sandbox/boxhost/port.ts"
import {
  noSandboxReason,
  rejectionOf,
  newBoxPlan,
  SANDBOX_RUN_OPTIONS,
  ownSandboxHosts,
  runShell,
} from "./sandbox-hosts.ts"

const hosts = await ownSandboxHosts()
let box: BoxHandle
beforeAll(async () => {
  if (noSandboxReason !== null) return
  box = await hosts.host.start(newBoxPlan({ environment: { GREETING: "two  words 'quoted'" } }))
})

async function* bytes(count: number): AsyncIterable<Uint8Array> {
  const piece = Buffer.alloc(64 * 1024, "x")
  for (let left = count; left > 0; left -= piece.length) yield piece.subarray(0, left)
}

describe("a command in a box", () => {
  it("finds git, python, a shell and the product's Node", async () => {
    const result = await runShell(
      box,
      "git --version && python3 -c 'print(6 * 7)' && node --version",
    )
    expect([result.exitCode, result.stderr]).toEqual([0, ""])
    expect(result.stdout.split("\n").slice(1)).toEqual(["42", process.version, ""])
  })

  it("runs in the repository's folder with the environment of its box", async () => {
    const environment = { EXTRA: "$HOME\n" }
    const result = await runShell(
      box,
      'pwd; echo "$GREETING"; printf %s "$EXTRA"; echo "$HOME"; whoami',
      {
        environment,
      },
    )
    expect(result.stdout).toBe(
      "/workspace/repo\ntwo  words 'quoted'\n$HOME\n/home/worker\nworker\n",
    )
    await runShell(box, "mkdir -p 'a folder'")
    expect((await runShell(box, "pwd", { cwd: "a folder" })).stdout).toBe(
      "/workspace/repo/a folder\n",
    )
  })

  it("may write to /dev/stdout and /dev/stderr", async () => {
    const result = await runShell(box, "echo out > /dev/stdout; echo err > /dev/stderr; exit 300")
    expect(result).toMatchObject({ stdout: "out\n", stderr: "err\n", exitCode: 44 })
  })

  it("is run by bash, in the foreground and in the background", async () => {
    const words = '[[ a == a ]] && echo "${BASH_VERSION%%.*}"'
    const ran = await box.runShell(words, SANDBOX_RUN_OPTIONS)
    expect(Buffer.from(ran.stdout).toString()).toMatch(/^\d+\n$/)
    const { id } = await box.spawn(words)
    await expect.poll(async () => (await box.readLogs(id))?.stdout).toMatch(/^\d+\n$/)
  })

  it("has an exit code for its signal, or the reason why it did not start", async () => {
    expect((await runShell(box, "kill -TERM $$")).exitCode).toBe(143)
    expect((await box.run(["no-such-program"], SANDBOX_RUN_OPTIONS)).exitCode).toBe(127)
    expect((await box.run(["/etc/passwd"], SANDBOX_RUN_OPTIONS)).exitCode).toBe(126)
    const long = await box.run(["echo", "x".repeat(3_000_000)], SANDBOX_RUN_OPTIONS)
    expect([long.exitCode, Buffer.from(long.stderr).toString()]).toEqual([
      126,
      expect.stringMatching(/^The command could not be started: .*E2BIG/),
    ])
  })

  it("never waits for its reader, regardless of the amount of output", async () => {
    const result = await runShell(box, "head -c 300000000 /dev/zero; echo done >&2", {
      maxOutputBytes: 1_000,
    })
    expect(result).toMatchObject({ stderr: "done\n", isTruncated: { stdout: true, stderr: false } })
    expect(result.stdout.length).toBe(1_000)
  })

  it("reads its whole input, or only a part of it", async () => {
    const stdin = () => bytes(5_000_000)
    expect((await runShell(box, "wc -c", { stdin: stdin() })).stdout).toBe("5000000\n")
    expect((await runShell(box, "head -c 3", { stdin: stdin() })).stdout).toBe("xxx")
    expect((await runShell(box, "true", { stdin: stdin() })).exitCode).toBe(0)
  })

  it("is ended at its timeout with all processes that it started", async () => {
    const line = "for i in 1 2 3; do setsid sh -c 'trap \"\" TERM; sleep 7777 & wait' & done; wait"
    const result = await runShell(box, line, { timeoutMs: 700 })
    expect(result).toMatchObject({ exitCode: 124, isTimedOut: true })
    // The bracket keeps the search from finding itself.
    expect((await runShell(box, "ps ax | grep -c '[s]leep 7777'")).stdout).toBe("0\n")
  })

  it("returns although a background process holds its outputs open", async () => {
    const result = await runShell(box, "sleep 8888 & echo begun")
    expect(result).toMatchObject({ exitCode: 0, stdout: "begun\n" })
    expect((await runShell(box, "pkill -f '[s]leep 8888'; echo $?")).stdout).toBe("0\n")
  })

  it("continues when its caller ends, and no longer keeps the box busy", async () => {
    const source = `
      import { openBubblewrap } from "./adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts"
      import { machinePacer } from "./adapters/machine/clock/database-clock.ts"
      const host = await openBubblewrap({ runDir: ${JSON.stringify(hosts.runDir)}, blockedNetworks: async () => [], pacer: machinePacer })
      const box = await host.find("${box.boxId}")
      const line = "touch begun; while [ ! -e go ]; do sleep 0.05; done; touch went"
      void box.run(["sh", "-c", line], { timeoutMs: 60000, maxOutputBytes: 1, isActivity: true })
      while ((await box.run(["test", "-e", "begun"], { timeoutMs: 9000, maxOutputBytes: 1, isActivity: false })).exitCode !== 0);
      process.kill(process.pid, "SIGKILL")`
    const args = ["--input-type=module", "-e", source]
    expect(spawnSync(process.execPath, args, { encoding: "utf8" })).toMatchObject({
      signal: "SIGKILL",
      stderr: "",
    })
    await expect.poll(async () => (await box.readHealth()).isBusy).toBe(false)
    await runShell(box, "touch go")
    await expect.poll(async () => (await runShell(box, "ls went")).exitCode).toBe(0)
  })

  it("is rejected for invalid arguments and beyond the limit", async () => {
    const environment = { "A B": "" }
    expect(await rejectionOf(box.run(["echo", "a\0b"], SANDBOX_RUN_OPTIONS))).toBeInstanceOf(
      BoxRequestRejected,
    )
    expect(
      await rejectionOf(box.run(["echo"], { ...SANDBOX_RUN_OPTIONS, environment })),
    ).toBeInstanceOf(BoxRequestRejected)
    const line = "while [ ! -e enough ]; do sleep 0.1; done"
    const running = Array.from({ length: 64 }, () => rejectionOf(runShell(box, line)))
    const one = () => rejectionOf(runShell(box, "true"))
    await expect
      .poll(one)
      .toEqual(new BoxRequestRejected("busy", "The box already runs 64 commands, its limit."))
    // A background process releases them, because no further command is accepted.
    await box.spawn("touch enough")
    expect(await Promise.all(running)).toEqual(running.map(() => null))
  })
})

describe("a background process", () => {
  it("keeps the last 1,000,000 bytes of its output", async () => {
    for (const { id } of await box.listProcesses()) await box.stopProcess(id)
    const { id } = await box.spawn("head -c 5000000 /dev/zero | tr '\\0' a; echo end; echo bad >&2")
    const logs = async () => (await box.readLogs(id)) ?? { stdout: "", stderr: "" }
    await expect.poll(async () => (await logs()).stderr).toBe("bad\n")
    await expect.poll(async () => (await logs()).stdout.endsWith("aaaend\n")).toBe(true)
    const { stdout } = await logs()
    expect(stdout.split("\n", 1)).toEqual(["[4000004 bytes before this are no longer kept]"])
    expect(stdout.length).toBeLessThan(1_000_100)
  })

  it("reports output that is not UTF-8, but not a character that was cut off", async () => {
    const logsOf = async (command: string) => {
      const { id } = await box.spawn(command)
      const isOver = async () => (await box.listProcesses()).find((one) => one.id === id)?.status
      await expect.poll(isOver).toBe("exited")
      return box.readLogs(id)
    }
    const latin = { stdout: "caf\ufffd", stderr: "", replacedBytes: true }
    expect(await logsOf("printf 'caf\\351'")).toEqual(latin)
    // Each character has three bytes, so the kept output begins within one.
    const cut = await logsOf('python3 -c \'print("\\u20ac" * 700000, end="")\'')
    expect(cut).not.toHaveProperty("replacedBytes")
    expect(cut?.stdout.split("\n")[1]).toMatch(/^\u20ac+$/)
  })

  it("is ended together with processes that left its group", async () => {
    const { id } = await box.spawn("setsid sleep 6666 & setsid sleep 6666 & wait")
    await expect
      .poll(async () => (await runShell(box, "pgrep -fc '^sleep 6666'")).stdout)
      .toBe("2\n")
    expect(await box.stopProcess(id)).toBe(true)
    expect((await runShell(box, "pgrep -fc '^sleep 6666'")).stdout).toBe("0\n")
  })

  it("is rejected beyond 32", async () => {
    const started = await Promise.all(Array.from({ length: 32 }, () => box.spawn("sleep 600")))
    expect(await rejectionOf(box.spawn("sleep 600"))).toEqual(
      new BoxRequestRejected("busy", "The box already runs 32 background commands, its limit."),
    )
    for (const { id } of started) await box.stopProcess(id)
  })
})

describe("a port in a box", () => {
  it("accepts connections over IPv4 and IPv6", async () => {
    const server = (host: string, port: number) =>
      `require("net").createServer((s) => s.end("by " + s.localAddress)).listen(${port}, "${host}")`
    for (const [host, port] of [["127.0.0.1", 3_001] as const, ["::1", 3_002] as const]) {
      const { id } = await box.spawn(`exec node -e '${server(host, port)}'`)
      const receivedText = async () => {
        let text = ""
        for await (const piece of (await box.connectToPort(port)) ?? []) text += String(piece)
        return text
      }
      await expect.poll(receivedText).toBe(`by ${host}`)
      await box.stopProcess(id)
    }
  })

  it("is a port of the box, not of the machine", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as { port: number }
    expect(await box.connectToPort(port)).toBeNull()
    server.close()
  })
})

describe("a box's first process", () => {
  it("cannot be killed from inside the box, which keeps running", async () => {
    const before = await box.readHealth()
    await runShell(box, "kill -9 1; pkill -9 node; kill -9 -1", { timeoutMs: 5_000 })
    expect((await runShell(box, "echo still")).stdout).toBe("still\n")
    expect((await box.readHealth()).activities).toBeGreaterThan(before.activities)
  })

  it("reaps orphaned processes", async () => {
    await runShell(box, "for i in 1 2 3 4 5; do (sleep 0.01 &) ; done")
    await expect
      .poll(async () => (await runShell(box, "ps ax | grep -c '[d]efunct'")).stdout)
      .toBe("0\n")
  })
})
