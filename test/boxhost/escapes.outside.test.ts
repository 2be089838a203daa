/**
 * Escapes from a box. Each is tried in a normal box, where it must fail, and in a box with a deliberately weak
 * policy, where it must succeed: otherwise the first result would prove nothing.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { once } from "node:events"
import { type Server, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  type SandboxPolicy,
  DEFAULT_SANDBOX_POLICY,
} from "../../adapters/sandbox/boxhost/bubblewrap/sandbox-policy.ts"
import type { BoxHandle } from "../../adapters/sandbox/boxhost/port.ts"
import { noSandboxReason, isRoot, newBoxPlan, ownSandboxHosts, runShell } from "./sandbox-hosts.ts"

const folder = mkdtempSync(join(tmpdir(), "canary-"))
chmodSync(folder, 0o755)
const canary = join(folder, "canary")
writeFileSync(canary, "reached\n")

const servers: Server[] = []
let port = 0

/** A sandbox's arguments with some removed, replaced and added. */
function weakened(
  args: readonly string[],
  { without, instead, more }: { without: string[]; instead: [string, string[]][]; more: string[] },
): readonly string[] {
  const replaced = instead.reduce<readonly string[]>((words, [what, by]) => {
    const at = words.findIndex((_, index) => words.slice(index).join(" ").startsWith(what))
    return [...words.slice(0, at), ...by, ...words.slice(at + what.split(" ").length)]
  }, args)
  return [...replaced.filter((word) => !without.includes(word)), ...more]
}

/** A policy with access to the machine's processes, devices, network and a folder, all system calls and root. */
const WEAK: SandboxPolicy = {
  outerArguments: async (view) =>
    weakened(await DEFAULT_SANDBOX_POLICY.outerArguments(view), {
      without: ["--unshare-net"],
      instead: [["--dev /dev", ["--dev-bind", "/dev", "/dev"]]],
      more: ["--ro-bind", folder, folder],
    }),
  innerArguments: async (view) =>
    weakened(await DEFAULT_SANDBOX_POLICY.innerArguments(view), {
      without: ["--disable-userns"],
      instead: [
        ["--uid 1000 --gid 1000", ["--uid", "0", "--gid", "0", "--cap-add", "ALL"]],
        ["--proc /proc", ["--ro-bind", "/proc", "/proc"]],
        ["--dev /dev", ["--dev-bind", "/dev", "/dev"]],
        ["--remount-ro /dev", []],
        ["--remount-ro /", []],
      ],
      more: ["--ro-bind", folder, folder],
    }),
  seccompFilter: () => null,
  adjustFirewall: (firewall) => firewall,
}

/** Makes a system call by number, and prints `reached` unless it fails with this error. */
const call = (words: string, refusal: number): string =>
  `python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
result = libc.syscall(${words})
if result >= 0 or ctypes.get_errno() != ${refusal}: print("reached")
'`
const socketOf = (family: number, kind: number): string =>
  `python3 -c 'import socket; socket.socket(${family}, ${kind}, 0); print("reached")'`
/** The attempts; each prints `reached` if it succeeds. */
const ATTEMPTS: readonly {
  readonly name: string
  readonly line: () => string
  /** Set for a harmless system call that a kernel may lack. */
  readonly asksKernel?: true
}[] = [
  { name: "read a file by its path", line: () => `cat ${canary}` },
  { name: "read a file through a link", line: () => `ln -sf ${canary} l; cat l` },
  { name: "read a file by parent folders", line: () => `cat ../../../../../../../..${canary}` },
  {
    name: "read a file through the root of another process",
    line: () => `cat /proc/[0-9]*/root${canary}`,
  },
  {
    name: "read a box agent's arguments",
    line: () => "cat /proc/[0-9]*/cmdline | grep -qa agent[.]js && echo reached",
  },
  { name: "write to the root folder", line: () => "touch /written && echo reached" },
  { name: "see other devices", line: () => "[ -e /dev/kmsg ] && echo reached" },
  { name: "mount", line: () => "mkdir -p m; mount -t tmpfs none m && echo reached" },
  {
    name: "change the root",
    line: () => `python3 -c 'import os; os.chroot("/tmp"); print("reached")'`,
  },
  { name: "create a user namespace", line: () => "unshare -U true && echo reached" },
  { name: "create a mount namespace", line: () => "unshare -m true && echo reached" },
  { name: "change the host name", line: () => "hostname other && echo reached" },
  {
    name: "create a user namespace by clone3",
    line: () => `python3 -c '
import ctypes, os
args = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
pid = ctypes.CDLL(None).syscall(435, args, 88)
if pid == 0: os._exit(0)
if pid > 0: print("reached")
'`,
  },
  {
    name: "use io_uring",
    line: () => call("425, 1, ctypes.create_string_buffer(200)", 38),
    asksKernel: true,
  },
  { name: "use kernel keys", line: () => call("250, 0, -3, 0", 1), asksKernel: true },
  { name: "use userfaultfd", line: () => call("323, 1", 1), asksKernel: true },
  { name: "use perf events", line: () => call("298, 0, 0, -1, -1, 0", 1), asksKernel: true },
  { name: "use BPF", line: () => call("321, 999, 0, 0", 1), asksKernel: true },
  { name: "open files by handle", line: () => call("304, -1, 0, 0", 1), asksKernel: true },
  { name: "open vsock sockets", line: () => socketOf(40, 1), asksKernel: true },
  { name: "open AF_ALG sockets", line: () => socketOf(38, 5), asksKernel: true },
  { name: "inject terminal input", line: () => call("16, 0, 0x5412, 0", 1), asksKernel: true },
  {
    name: "reach a server on the machine",
    line: () =>
      `node -e 'require("net").connect(${port}, "127.0.0.1").on("error", () => {}).pipe(process.stdout)'`,
  },
  {
    name: "reach an abstract socket",
    line: () =>
      `node -e 'require("net").connect("\\0canary-${port}").on("error", () => {}).pipe(process.stdout)'`,
  },
]

const hosts = await ownSandboxHosts()
let strong: BoxHandle
let weak: BoxHandle
beforeAll(async () => {
  if (noSandboxReason !== null) return
  for (const listenOptions of [{ port: 0, host: "127.0.0.1" }, null]) {
    const server = createServer((socket) => socket.end("reached"))
    servers.push(server.listen(listenOptions ?? { path: `\0canary-${port}` }))
    await once(server, "listening")
    if (listenOptions !== null) port = (server.address() as { port: number }).port
  }
  strong = await hosts.host.start(newBoxPlan())
  weak = await (await hosts.open({}, WEAK)).start(newBoxPlan())
})
afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
})

/** Whether a command escapes. */
const escapes = async (box: BoxHandle, line: string): Promise<boolean> =>
  (await runShell(box, line, { timeoutMs: 20_000 })).stdout.includes("reached")

describe("a program in a box", () => {
  it.for(ATTEMPTS)("cannot $name", async ({ asksKernel, line }, ctx) => {
    const isKnown = asksKernel !== true || process.arch === "x64"
    ctx.skip(!isKnown, "the numbers of these system calls are for x64")
    expect(await escapes(strong, line())).toBe(false)
    // A system call that this kernel lacks fails in the weak box too.
    const isHere = asksKernel !== true || spawnSync("sh", ["-c", line()]).stdout.includes("reached")
    expect(await escapes(weak, line())).toBe(isHere)
  })
})

describe("a box", () => {
  it("sees no file of another box while commands start and end", async () => {
    const search =
      "end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do " +
      `cat /proc/[0-9]*/root${canary} /proc/[0-9]*/cwd/canary 2>/dev/null; ` +
      "for l in /proc/[0-9]*/exe /proc/[0-9]*/fd/*; do readlink $l; done | " +
      "grep -vE '^(/usr|/opt/node|/dev/null|/dev/zero|/proc|pipe:|socket:|anon_inode:|.*/pipes/)'; done"
    const searching = runShell(strong, search)
    for (let count = 0; count < 20; count += 1) {
      await Promise.all([1, 2, 3].map(() => runShell(strong, "true", { cwd: "/tmp" })))
    }
    expect((await searching).stdout).toBe("")
  })

  it("has three open descriptors and no capabilities", async () => {
    const open = await runShell(strong, "ls /proc/self/fd /proc/1/fd; readlink /proc/1/fd/1")
    // The fourth descriptor of `ls` is the folder that it reads.
    expect(open.stdout).toBe("/proc/1/fd:\n0\n1\n2\n\n/proc/self/fd:\n0\n1\n2\n3\n/dev/null\n")
    const status = await runShell(
      strong,
      "grep -E '^(CapEff|CapPrm|CapInh|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status",
    )
    expect(status.stdout.replaceAll(/\s+/g, " ")).toBe(
      "CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 " +
        "CapAmb: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 ",
    )
  })

  it("cannot change settings of the machine", async () => {
    for (const path of ["sys/kernel/core_pattern", "sysrq-trigger", "sys/vm/drop_caches"]) {
      expect((await runShell(strong, `: >> /proc/${path}`)).exitCode).not.toBe(0)
    }
    expect((await runShell(strong, "head -c 1 /proc/kcore")).exitCode).not.toBe(0)
    expect(
      (await runShell(strong, "echo root | su -c id; touch /usr/x /etc/x /dev/x")).exitCode,
    ).not.toBe(0)
  })

  it("runs as another user than all other boxes and the program", async (ctx) => {
    ctx.skip(
      noSandboxReason !== null || !isRoot,
      noSandboxReason ?? "boxes are separate users only for root",
    )
    const uids = [strong, weak].map(({ boxId }) => statSync(join(hosts.runDir, "boxes", boxId)).uid)
    expect(new Set([...uids, 0]).size).toBe(3)
  })
})
