/** A git that fails when it is told to (`simulator set git unavailable`): for tests, and to look at what people then see. */
import type { Pacer } from "../machine/clock/port.ts"
import type { Simulator, Simulators } from "../providers/simulators/port.ts"
import type { Repositories } from "./port.ts"
import { GitUnavailable } from "./port.ts"

/** What it can be told to do. */
export const GIT_SIMULATOR = { name: "git", outcomes: [] } as const satisfies Simulator

/** An erasure is not held up by a test; before the others it is asked whether there is a repository. */
const EXEMPT_METHODS: ReadonlySet<string> = new Set([
  "erase",
  "advertiseRefs",
  "uploadPack",
  "receivePush",
])
const SLOW_DELAY_MS = 2_000

/** What it works with. */
export interface GitFaultPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/**
 * The same repositories; whatever serves a client or an operator fails first where it was told to. Their
 * calls throw GitUnavailable then.
 */
export function simulateGitFaults(
  git: Repositories,
  { simulators, pacer }: GitFaultPorts,
): Repositories {
  const told = async (): Promise<void> => {
    const outcome = await simulators.nextOutcome(GIT_SIMULATOR)
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    else if (outcome !== "ok") throw new GitUnavailable(`git was told to be ${outcome}`)
  }
  return new Proxy(git, {
    get: (target, name) => {
      const act: unknown = Reflect.get(target, name)
      if (typeof act !== "function" || EXEMPT_METHODS.has(String(name))) return act
      return async (...given: readonly unknown[]): Promise<unknown> => {
        await told()
        return Reflect.apply(act, target, given)
      }
    },
  })
}
