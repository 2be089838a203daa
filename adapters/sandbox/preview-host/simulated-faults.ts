/**
 * Wraps a preview host, also a real one, so that it fails on request (`simulator set publish off`),
 * for tests and for trying error messages.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../../providers/provider-errors.ts"
import type { COMMON_OUTCOMES, Simulator, Simulators } from "../../providers/simulators/port.ts"
import type { BuildResult, PreviewHost } from "./port.ts"

/** The simulator's outcomes. `build-fails`: builds fail; `off`: no build can start. */
export const PUBLISH_SIMULATOR = {
  name: "publish",
  outcomes: ["build-fails", "off"],
} as const satisfies Simulator

type PreviewOutcome =
  (typeof PUBLISH_SIMULATOR)["outcomes"][number] | (typeof COMMON_OUTCOMES)[number]

const SLOW_DELAY_MS = 2_000

export interface PreviewFaultPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** The kind of a call; an outcome for another kind is not used up. */
type CallScope = "able" | "build" | "app"

const FAILED_BUILD_RESULT: BuildResult<never> = {
  ok: false,
  log: Buffer.from("The build is set to fail.\n"),
  reason: "The build is set to fail.",
}

/** Wraps the host, which is chosen on the first call, with simulated faults. */
export function simulatePreviewFaults(
  chosen: () => PreviewHost,
  ports: PreviewFaultPorts,
): PreviewHost {
  const runWithOutcome = createOutcomeRunner(ports)
  const app = <T>(act: () => Promise<T>) => runWithOutcome("app", act)
  return {
    get hostId() {
      return chosen().hostId
    },
    canBuild: () =>
      runWithOutcome("able", async (outcome) => outcome !== "off" && chosen().canBuild()),
    build: (plan, keep) =>
      runWithOutcome("build", async (outcome) =>
        outcome === "build-fails" ? FAILED_BUILD_RESULT : chosen().build(plan, keep),
      ),
    start: (plan) => app(() => chosen().start(plan)),
    connect: (version) => app(() => chosen().connect(version)),
    readStatus: (companyId) => app(() => chosen().readStatus(companyId)),
    extend: (companyId, leaseMs) => app(() => chosen().extend(companyId, leaseMs)),
    removeVersion: (version) => app(() => chosen().removeVersion(version)),
    sleep: (companyId) => app(() => chosen().sleep(companyId)),
    measureBytes: (companyId) => app(() => chosen().measureBytes(companyId)),
    erase: (companyId) => app(() => chosen().erase(companyId)),
    listRunning: () => app(() => chosen().listRunning()),
  }
}

type WithOutcome = <T>(scope: CallScope, act: (outcome: PreviewOutcome) => Promise<T>) => Promise<T>

function createOutcomeRunner({ pacer, simulators }: PreviewFaultPorts): WithOutcome {
  return async (scope, act) => {
    const outcome = await nextOutcomeFor(simulators, scope)
    if (outcome === "unavailable")
      throw new ProviderUnavailable("the simulated preview host answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    const result = await act(outcome)
    if (outcome === "silent")
      throw new ProviderOutcomeUnknown("the simulated preview host did not answer")
    return result
  }
}

/** Uses up an outcome only for a call that it applies to. */
async function nextOutcomeFor(simulators: Simulators, scope: CallScope): Promise<PreviewOutcome> {
  const all = await simulators.list()
  const set = all.find(({ name }) => name === PUBLISH_SIMULATOR.name)
  return set === undefined || !appliesTo(set.outcome, scope)
    ? "ok"
    : simulators.nextOutcome(PUBLISH_SIMULATOR)
}

function appliesTo(outcome: string, scope: CallScope): boolean {
  if (outcome === "off") return scope === "able"
  return outcome === "build-fails" ? scope === "build" : true
}
