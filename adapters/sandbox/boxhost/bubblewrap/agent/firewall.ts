/**
 * Loads the box's firewall before any process of the box runs, in a network namespace that the box
 * cannot change.
 */
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import type { FirewallRules } from "./plan.ts"

const ROUTE_TIMEOUT_MS = 20_000
const POLL_INTERVAL_MS = 5

/** The rules for nftables: one per network, because networks may overlap. */
function nftRules({ networks, ports, nameServer }: FirewallRules): string {
  const lines = [
    'oifname "lo" accept',
    "meta nfproto ipv6 reject",
    ...["udp", "tcp"].map((kind) => `ip daddr ${nameServer} ${kind} dport 53 accept`),
    ...networks.map((network) => `ip daddr ${network} reject`),
    ...ports.map((port) => `tcp dport ${port} reject`),
  ]
  const chain = ["type filter hook output priority 0; policy accept;", ...lines].join("\n")
  return `table inet box {\nchain out {\n${chain}\n}\n}\n`
}

/** The same as routing rules. Packets to the machine itself are decided before these. */
function routingRules({ networks, ports, nameServer }: FirewallRules): string {
  const allowed = ["udp", "tcp"].map(
    (kind, index) =>
      `rule add pref ${10 + index} to ${nameServer} ipproto ${kind} dport 53 lookup main`,
  )
  const forbidden = [
    ...networks.map((network) => `to ${network}`),
    ...ports.map((port) => `ipproto tcp dport ${port}`),
  ].map((target, index) => `rule add pref ${100 + index} ${target} unreachable`)
  return [...allowed, ...forbidden, ""].join("\n")
}

/** Runs a program with an input; returns whether it succeeded. */
function runWithInput(program: string, args: readonly string[], input: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["pipe", "ignore", "inherit"] })
    child.once("error", () => resolve(false))
    child.once("exit", (code) => resolve(code === 0))
    child.stdin.on("error", () => undefined)
    child.stdin.end(input)
  })
}

/** The commands of each way with their inputs. */
function loadSteps(
  by: "nft" | "ip",
  firewall: FirewallRules,
): readonly (readonly [string[], string])[] {
  if (by === "nft") return [[["-f", "-"], nftRules(firewall)]]
  const hasIPv6 = existsSync("/proc/net/if_inet6")
  const rejectIPv6 = [["-6", "-batch", "-"], "rule add pref 100 unreachable\n"] as [
    string[],
    string,
  ]
  return [[["-batch", "-"], routingRules(firewall)], ...(hasIPv6 ? [rejectIPv6] : [])]
}

/**
 * Waits for the default route, or a timeout: the kernel accepts no route via a gateway that the
 * routing rules forbid.
 */
async function waitForRoute(): Promise<void> {
  const until = performance.now() + ROUTE_TIMEOUT_MS
  // The second column is the destination: the default route.
  const isRouted = () => /^\w+\t00000000\t/m.test(readFileSync("/proc/net/route", "utf8"))
  while (!isRouted() && performance.now() < until) await pause(POLL_INTERVAL_MS)
}

/**
 * Loads the firewall by the first way that works; null if none does, and then the box must have no
 * network.
 */
export async function loadFirewall(firewall: FirewallRules): Promise<"nft" | "ip" | null> {
  for (const by of firewall.by) {
    if (by === "ip") await waitForRoute()
    let isLoaded = true
    for (const [args, input] of loadSteps(by, firewall))
      isLoaded &&= await runWithInput(by, args, input)
    if (isLoaded) return by
  }
  return null
}
