/** What the box's packets may not go to. Loaded before there is anybody in it, where nobody in it reaches. */
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import type { FirewallRules } from "./plan.ts"

const ROUTE_TIMEOUT_MS = 20_000
const POLL_INTERVAL_MS = 5

/** The rules of nftables: one a line, for networks may lie in one another. */
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

/** The same as rules for choosing routes: packets to the machine itself are judged before them. */
function routingRules({ networks, ports, nameServer }: FirewallRules): string {
  const allowed = ["udp", "tcp"].map(
    (kind, index) =>
      `rule add pref ${10 + index} to ${nameServer} ipproto ${kind} dport 53 lookup main`,
  )
  const forbidden = [
    ...networks.map((network) => `to ${network}`),
    ...ports.map((port) => `ipproto tcp dport ${port}`),
  ].map((what, index) => `rule add pref ${100 + index} ${what} unreachable`)
  return [...allowed, ...forbidden, ""].join("\n")
}

/** Whether a program did what it was told. */
function runWithInput(program: string, args: readonly string[], told: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["pipe", "ignore", "inherit"] })
    child.once("error", () => resolve(false))
    child.once("exit", (code) => resolve(code === 0))
    child.stdin.on("error", () => undefined)
    child.stdin.end(told)
  })
}

/** What each way tells which program. */
function loadSteps(
  by: "nft" | "ip",
  firewall: FirewallRules,
): readonly (readonly [string[], string])[] {
  if (by === "nft") return [[["-f", "-"], nftRules(firewall)]]
  const knowsIPv6 = existsSync("/proc/net/if_inet6")
  const none = [["-6", "-batch", "-"], "rule add pref 100 unreachable\n"] as [string[], string]
  return [[["-batch", "-"], routingRules(firewall)], ...(knowsIPv6 ? [none] : [])]
}

/**
 * Resolves once the network has its route to everywhere, or none comes: no kernel takes one by a gateway
 * that its rules for choosing routes forbid.
 */
async function waitForRoute(): Promise<void> {
  const until = performance.now() + ROUTE_TIMEOUT_MS
  // The second column, and the third: to everywhere, by the gateway.
  const isRouted = () => /^\w+\t00000000\t/m.test(readFileSync("/proc/net/route", "utf8"))
  while (!isRouted() && performance.now() < until) await pause(POLL_INTERVAL_MS)
}

/** Loads it by the first way that works; null where none does, and there must be no network then. */
export async function loadFirewall(firewall: FirewallRules): Promise<"nft" | "ip" | null> {
  for (const by of firewall.by) {
    if (by === "ip") await waitForRoute()
    let isLoaded = true
    for (const [args, told] of loadSteps(by, firewall))
      isLoaded &&= await runWithInput(by, args, told)
    if (isLoaded) return by
  }
  return null
}
