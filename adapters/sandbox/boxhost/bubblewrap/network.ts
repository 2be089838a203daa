/** The network of a box: a program in the machine's own network that acts as its router. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chown, readFile, stat } from "node:fs/promises"
import { isIPv4 } from "node:net"
import { networkInterfaces } from "node:os"
import type { Readable } from "node:stream"
import type { BoxPlan } from "../port.ts"
import type { BoxNetwork, FirewallRules } from "./agent/plan.ts"
import type { ProcessReference } from "./programs.ts"
import {
  ProgramFailed,
  isNotFoundError,
  identifyProcess,
  killProcess,
  runProgram,
} from "./programs.ts"
import type { BubblewrapContext } from "./options.ts"

const GATEWAY = "10.0.2.2"
const NAME_SERVER = "10.0.2.3"
const TUN = "/dev/net/tun"
const TUN_NUMBERS = ["10", "200"]
/** Shorter than the wait of the routing rules for it. */
const READY_TIMEOUT_MS = 10_000

/**
 * Networks that are not public: neighbors of this machine, the machine itself, and metadata
 * services of clouds.
 */
const BLOCKED_NETWORKS = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
]
/** Boxes must not send mail. */
const SMTP_PORT = 25

/**
 * The destinations that no box may reach: private networks, this machine's addresses, and
 * configured networks.
 */
export async function buildFirewallRules({
  isDisabled,
  options,
}: BubblewrapContext): Promise<FirewallRules> {
  const ownAddresses = Object.values(networkInterfaces())
    .flat()
    .flatMap((address) => (address?.family === "IPv4" ? [`${address.address}/32`] : []))
  const configured = (await options.blockedNetworks()).filter((network) =>
    isIPv4(network.split("/")[0] ?? ""),
  )
  return {
    by: (["nft", "ip"] as const).filter((way) => !isDisabled(way)),
    networks: [...new Set([...BLOCKED_NETWORKS, ...ownAddresses, ...configured])],
    ports: [SMTP_PORT],
    nameServer: NAME_SERVER,
  }
}

export interface NetworkTarget {
  readonly agent: ProcessReference
  readonly uid: number | null
  /** A pipe that the agent holds open while it lives. */
  readonly exitPipe: string
  /** A TUN device for this box, if the machine's own is not accessible to every user. */
  readonly tunDevice: string | null
  /** The descriptor of the box's log. */
  readonly logDescriptor: number
}

export interface AttachedNetwork {
  readonly network: BoxNetwork
  readonly process: ProcessReference | null
}

/** Whether a box should have a network and a program for it may exist. */
export function hasNetwork(
  { isDisabled }: BubblewrapContext,
  { network = "out" }: BoxPlan,
): boolean {
  return network === "out" && (!isDisabled("slirp4netns") || !isDisabled("pasta"))
}

/** For a box without a network. */
export const attachNoNetwork = async (): Promise<AttachedNetwork> => ({
  network: "none",
  process: null,
})

/** Sets up the box's network with the first program that works. */
export async function attachNetwork(
  machine: BubblewrapContext,
  box: NetworkTarget,
): Promise<AttachedNetwork> {
  if (!machine.isDisabled("slirp4netns")) {
    const process = await startSlirp(machine, box)
    if (process !== null) return { network: "slirp", process }
  }
  if (!machine.isDisabled("pasta")) {
    const process = await startPasta(machine, box)
    if (process !== null) return { network: "pasta", process }
  }
  return { network: "none", process: null }
}

/** slirp4netns ends with the agent, by the FIFO that the agent holds open. */
async function startSlirp(
  machine: BubblewrapContext,
  box: NetworkTarget,
): Promise<ProcessReference | null> {
  const pid = String(box.agent.pid)
  // In its sandbox slirp4netns could not enter the box's user namespace itself.
  const script =
    "exec slirp4netns --configure --mtu=65520 --disable-host-loopback --enable-sandbox " +
    '--enable-seccomp --exit-fd=3 --ready-fd=4 --netns-type=path "/proc/$1/ns/net" tap0 3< "$2"'
  const child = startProgram(box, [
    "nsenter",
    "-t",
    pid,
    "-U",
    "--preserve-credentials",
    "--",
    "sh",
    "-c",
    script,
    "sh",
    pid,
    box.exitPipe,
  ])
  const ready = child.stdio[4] as Readable
  const isReady = once(ready, "data").then(() => true)
  return awaitReady(machine, child, isReady).finally(() => ready.destroy())
}

/** pasta cannot notice the agent's end, so the program that ends the box ends it. */
async function startPasta(
  machine: BubblewrapContext,
  box: NetworkTarget,
): Promise<ProcessReference | null> {
  const { pid } = box.agent
  const addresses = ["-a", "10.0.2.100", "-n", "24", "-g", GATEWAY, "--dns-forward", NAME_SERVER]
  const ports = ["-t", "none", "-u", "none", "-T", "none", "-U", "none"]
  const child = startProgram(box, [
    "pasta",
    "-f",
    "-q",
    "--config-net",
    "-4",
    "--no-map-gw",
    ...ports,
    ...addresses,
    "--userns",
    `/proc/${pid}/ns/user`,
    "--netns",
    `/proc/${pid}/ns/net`,
  ])
  return awaitReady(machine, child, awaitRoute(machine, pid))
}

/** Starts a program that outlives this one, as the box's user. */
function startProgram(
  { logDescriptor, tunDevice, uid }: NetworkTarget,
  argv: readonly string[],
): ChildProcess {
  const command = tunDevice !== null && uid !== null ? withTun(tunDevice, uid, argv) : argv
  const [file = "", ...args] = command
  const child = spawn(file, args, {
    detached: true,
    stdio: ["ignore", logDescriptor, logDescriptor, "ignore", "pipe"],
    env: { PATH: process.env["PATH"] ?? "" },
    ...(uid === null || command !== argv ? {} : { uid, gid: uid }),
  })
  child.unref()
  return child
}

/** The process when it is ready; null if it ended or took too long. */
async function awaitReady(
  { pacer }: BubblewrapContext,
  child: ChildProcess,
  isReady: Promise<boolean>,
): Promise<ProcessReference | null> {
  const finished = new AbortController()
  const ended = new Promise<boolean>((resolve) => {
    child.once("error", () => resolve(false))
    child.once("exit", () => resolve(false))
  })
  const late = pacer.pause(READY_TIMEOUT_MS, finished.signal).then(() => false)
  const isDone = await Promise.race([isReady, ended, late])
  finished.abort()
  const process = child.pid === undefined ? null : await identifyProcess(child.pid)
  if (isDone || process === null) return process
  await killProcess(process, pacer)
  return null
}

/** Waits for the default route of a process's network; false if the process ended. */
async function awaitRoute({ pacer }: BubblewrapContext, pid: number): Promise<boolean> {
  for (;;) {
    try {
      // The second column is the destination: the default route.
      if (/^\w+\t00000000\t/m.test(await readFile(`/proc/${pid}/net/route`, "utf8"))) return true
    } catch (error) {
      if (isNotFoundError(error)) return false
      throw error
    }
    await pacer.pause(5)
  }
}

/** The command line of a program that sees a TUN device of its own instead of the machine's. */
function withTun(tun: string, uid: number, argv: readonly string[]): readonly string[] {
  const script = `mount --bind "$0" ${TUN} && exec "$@"`
  const user = String(uid)
  return [
    "unshare",
    "-m",
    "sh",
    "-c",
    script,
    tun,
    "setpriv",
    "--reuid",
    user,
    "--regid",
    user,
    "--clear-groups",
    "--",
    ...argv,
  ]
}

/**
 * Creates a TUN device for a box's user, because on some machines only root can use the machine's
 * own. Null if that one can be used, or none can be created.
 *
 * @param path in a folder that only root can write
 */
export async function makeTunDevice(path: string, uid: number | null): Promise<string | null> {
  if (uid === null) return null
  try {
    const { mode } = await stat(TUN)
    if ((mode & 0o006) === 0o006) return null
    await runProgram("mknod", ["-m", "600", path, "c", ...TUN_NUMBERS])
    await chown(path, uid, uid)
    return path
  } catch (error) {
    if (error instanceof ProgramFailed || isNotFoundError(error)) return null
    throw error
  }
}
