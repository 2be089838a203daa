/**
 * A git that fails on request (`simulator set git unavailable`), for tests and for trying error
 * messages.
 */
import type { Pacer } from "../machine/clock/port.ts"
import type { Simulator, Simulators } from "../providers/simulators/port.ts"
import type { Repositories } from "./port.ts"
import { GitUnavailable } from "./port.ts"

/** The simulator's outcomes. */
export const GIT_SIMULATOR = { name: "git", outcomes: [] } as const satisfies Simulator

/**
 * Erasure must not be blocked by a test. The other methods run after a check that the repository
 * exists, which is not exempt.
 */
const EXEMPT_METHODS: ReadonlySet<string> = new Set([
  "erase",
  "advertiseRefs",
  "uploadPack",
  "receivePush",
])
const SLOW_DELAY_MS = 2_000

export interface GitFaultPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/**
 * Wraps the repositories: calls for clients and operators first apply the next outcome and throw
 * GitUnavailable if it is not `ok`.
 */
export function simulateGitFaults(
  git: Repositories,
  { simulators, pacer }: GitFaultPorts,
): Repositories {
  const applyOutcome = async (): Promise<void> => {
    const outcome = await simulators.nextOutcome(GIT_SIMULATOR)
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    else if (outcome !== "ok")
      throw new GitUnavailable(`the simulated outcome of git is set to ${outcome}`)
  }
  return new Proxy(git, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== "function" || EXEMPT_METHODS.has(String(name))) return method
      return async (...args: readonly unknown[]): Promise<unknown> => {
        await applyOutcome()
        return Reflect.apply(method, target, args)
      }
    },
  })
}
