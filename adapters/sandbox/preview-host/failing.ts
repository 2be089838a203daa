/**
 * Hosts of previews, the real one too, that fail when they are told to (`simulator set publish off`): for
 * tests, and to look at what people then see.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../providers/outside.ts"
import type { COMMON_OUTCOMES, Simulator, Simulators } from "../../providers/simulators/port.ts"
import type { Built, PreviewHost } from "./port.ts"

/** What they can be told to do. `build-fails`: builds come to nothing; `off`: nothing can be built now. */
export const PUBLISH = {
  name: "publish",
  outcomes: ["build-fails", "off"],
} as const satisfies Simulator

type Outcome = (typeof PUBLISH)["outcomes"][number] | (typeof COMMON_OUTCOMES)[number]

const SLOW_MS = 2_000

/** What it works with. */
export interface FailingPreviewPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** What a call is about: an outcome that is about something else waits for its turn. */
type About = "able" | "build" | "app"

const BUILD_FAILED: Built<never> = {
  ok: false,
  log: Buffer.from("The build was told to fail.\n"),
  why: "The build was told to fail.",
}

/** The same host, which is chosen when it is first asked for; its calls fail where they were told to. */
export function failingPreviews(
  chosen: () => PreviewHost,
  ports: FailingPreviewPorts,
): PreviewHost {
  const told = toldBy(ports)
  const app = <T>(act: () => Promise<T>) => told("app", act)
  return {
    get hostId() {
      return chosen().hostId
    },
    isAble: () => told("able", async (outcome) => outcome !== "off" && chosen().isAble()),
    build: (plan, keep) =>
      told("build", async (outcome) =>
        outcome === "build-fails" ? BUILD_FAILED : chosen().build(plan, keep),
      ),
    start: (plan) => app(() => chosen().start(plan)),
    dial: (version) => app(() => chosen().dial(version)),
    look: (companyId) => app(() => chosen().look(companyId)),
    extend: (companyId, leaseMs) => app(() => chosen().extend(companyId, leaseMs)),
    end: (version) => app(() => chosen().end(version)),
    sleep: (companyId) => app(() => chosen().sleep(companyId)),
    measure: (companyId) => app(() => chosen().measure(companyId)),
    erase: (companyId) => app(() => chosen().erase(companyId)),
    list: () => app(() => chosen().list()),
  }
}

type Told = <T>(about: About, act: (outcome: Outcome) => Promise<T>) => Promise<T>

function toldBy({ pacer, simulators }: FailingPreviewPorts): Told {
  return async (about, act) => {
    const outcome = await outcomeFor(simulators, about)
    if (outcome === "unavailable")
      throw new ProviderUnavailable("the host of previews answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_MS)
    const done = await act(outcome)
    if (outcome === "silent") throw new ProviderSilent("the host of previews did not answer")
    return done
  }
}

/** What is done now. It is counted only where it is done: a failing build is not used up before one. */
async function outcomeFor(simulators: Simulators, about: About): Promise<Outcome> {
  const all = await simulators.list()
  const set = all.find(({ name }) => name === PUBLISH.name)
  return set === undefined || !fits(set.outcome, about) ? "ok" : simulators.next(PUBLISH)
}

function fits(outcome: string, about: About): boolean {
  if (outcome === "off") return about === "able"
  return outcome === "build-fails" ? about === "build" : true
}
