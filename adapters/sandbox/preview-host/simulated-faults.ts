/**
 * Hosts of previews, the real one too, that fail when they are told to (`simulator set publish off`): for
 * tests, and to look at what people then see.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../../providers/provider-errors.ts"
import type { COMMON_OUTCOMES, Simulator, Simulators } from "../../providers/simulators/port.ts"
import type { BuildResult, PreviewHost } from "./port.ts"

/** What they can be told to do. `build-fails`: builds come to nothing; `off`: nothing can be built now. */
export const PUBLISH_SIMULATOR = {
  name: "publish",
  outcomes: ["build-fails", "off"],
} as const satisfies Simulator

type PreviewOutcome =
  (typeof PUBLISH_SIMULATOR)["outcomes"][number] | (typeof COMMON_OUTCOMES)[number]

const SLOW_DELAY_MS = 2_000

/** What it works with. */
export interface PreviewFaultPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** What a call is about: an outcome that is about something else waits for its turn. */
type CallScope = "able" | "build" | "app"

const FAILED_BUILD_RESULT: BuildResult<never> = {
  ok: false,
  log: Buffer.from("The build was told to fail.\n"),
  reason: "The build was told to fail.",
}

/** The same host, which is chosen when it is first asked for; its calls fail where they were told to. */
export function simulatePreviewFaults(
  chosen: () => PreviewHost,
  ports: PreviewFaultPorts,
): PreviewHost {
  const told = createOutcomeRunner(ports)
  const app = <T>(act: () => Promise<T>) => told("app", act)
  return {
    get hostId() {
      return chosen().hostId
    },
    canBuild: () => told("able", async (outcome) => outcome !== "off" && chosen().canBuild()),
    build: (plan, keep) =>
      told("build", async (outcome) =>
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

type WithOutcome = <T>(about: CallScope, act: (outcome: PreviewOutcome) => Promise<T>) => Promise<T>

function createOutcomeRunner({ pacer, simulators }: PreviewFaultPorts): WithOutcome {
  return async (about, act) => {
    const outcome = await nextOutcomeFor(simulators, about)
    if (outcome === "unavailable")
      throw new ProviderUnavailable("the host of previews answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    const done = await act(outcome)
    if (outcome === "silent")
      throw new ProviderOutcomeUnknown("the host of previews did not answer")
    return done
  }
}

/** What is done now. It is counted only where it is done: a failing build is not used up before one. */
async function nextOutcomeFor(simulators: Simulators, about: CallScope): Promise<PreviewOutcome> {
  const all = await simulators.list()
  const set = all.find(({ name }) => name === PUBLISH_SIMULATOR.name)
  return set === undefined || !appliesTo(set.outcome, about)
    ? "ok"
    : simulators.nextOutcome(PUBLISH_SIMULATOR)
}

function appliesTo(outcome: string, about: CallScope): boolean {
  if (outcome === "off") return about === "able"
  return outcome === "build-fails" ? about === "build" : true
}
