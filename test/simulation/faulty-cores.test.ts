/**
 * Cores with one fault each: the simulation finds every one of them within the seeds that it goes
 * through. An audit that no fault can break guards nothing.
 */
import { afterEach, describe, expect, it, vi } from "vitest"
import type * as keeping from "../../adapters/checkpoints/memory.ts"
import type * as aggregates from "../../domain/charging/aggregates.ts"
import type * as texting from "../../src/phone/send-text.ts"
import type * as claiming from "../../src/frame/calls/idempotency.ts"
import type * as reconciling from "../../src/frame/effects/reconcile.ts"
import type * as running from "../../src/frame/writer/run.ts"
import type * as appending from "../../src/frame/writer/runner/append.ts"
import type * as lateness from "../../src/frame/writer/runner/deadlines.ts"
import type * as freshness from "../../src/frame/writer/runner/fresh.ts"
import type * as gathering from "../../src/frame/writer/runner/gathered.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner/port.ts"
import type { FaultyCore } from "./faulty-cores.ts"
import { FAULTY_CORES } from "./faulty-cores.ts"
import { firstBroken } from "./runs.ts"

const FINDING_TIMEOUT_MS = 120_000

/** The core that is at work; each part of it asks here how it is faulty. */
const { at } = vi.hoisted(() => ({ at: { work: null as FaultyCore | null } }))

vi.mock("../../src/frame/writer/runner/append.ts", async (original) => {
  const real = await original<typeof appending>()
  const appendSurely: typeof real.appendSurely = (ports, append) =>
    (at.work?.appendSurely?.(real.appendSurely) ?? real.appendSurely)(ports, append)
  return { ...real, appendSurely }
})

vi.mock("../../src/frame/writer/runner/deadlines.ts", async (original) => {
  const real = await original<typeof lateness>()
  const watchDeadlines: typeof real.watchDeadlines = (pacer) =>
    at.work?.watchesNobody === true
      ? { watch: () => undefined, forget: () => undefined, stop: () => undefined }
      : real.watchDeadlines(pacer)
  return { ...real, watchDeadlines }
})

vi.mock("../../src/frame/calls/idempotency.ts", async (original) => {
  const real = await original<typeof claiming>()
  const letGo: typeof real.letGo = (ports, { claim, takenOver }, error) => {
    const isKnown = takenOver && at.work?.freesTakenOver !== true
    return real.letGo(ports, { claim, takenOver: isKnown }, error)
  }
  return { ...real, letGo }
})

vi.mock("../../src/frame/writer/runner/fresh.ts", async (original) => {
  const real = await original<typeof freshness>()
  const isConfirmedSince: typeof real.isConfirmedSince = (...asked) =>
    at.work?.believesEveryNo === true || real.isConfirmedSince(...asked)
  const isFresh: typeof real.isFresh = (working, lane) =>
    at.work?.believesItsMemory === true ? lane.loaded !== null : real.isFresh(working, lane)
  return { ...real, isConfirmedSince, isFresh }
})

vi.mock("../../src/frame/writer/runner/gathered.ts", async (original) => {
  const real = await original<typeof gathering>()
  const forgetState: typeof real.forgetState = (ports, lane) =>
    (at.work?.forgetState?.(real) ?? real.forgetState)(ports, lane)
  return { ...real, forgetState }
})

vi.mock("../../domain/charging/aggregates.ts", async (original) => {
  const real = await original<typeof aggregates>()
  const { decide } = real.LEDGER.decider
  const decider: typeof real.LEDGER.decider = {
    ...real.LEDGER.decider,
    decide: (...asked) => (at.work?.decide?.(decide) ?? decide)(...asked),
  }
  const LEDGER = { ...real.LEDGER, decider }
  const ledgerOf: typeof real.ledgerOf = (companyId) => ({
    ...real.ledgerOf(companyId),
    aggregate: LEDGER,
  })
  return { ...real, LEDGER, ledgerOf }
})

vi.mock("../../src/frame/writer/run.ts", async (original) => {
  const real = await original<typeof running>()
  const openRunner: typeof real.openRunner = (ports) => {
    const runner = real.openRunner(ports)
    return at.work?.runner?.(runner) ?? runner
  }
  return { ...real, openRunner }
})

vi.mock("../../src/phone/send-text.ts", async (original) => {
  const real = await original<typeof texting>()
  const resume: typeof real.sendText.resume = async (ports, caller, input) => {
    const anew = { seed: input.seed }
    if (at.work?.resumes === false) return anew
    try {
      return (await real.sendText.resume?.(ports, caller, input)) ?? anew
    } catch (error) {
      // What keeps the key held is then no doubt any more.
      const isPlain = at.work?.freesTakenOver === true && error instanceof OutcomeUnknown
      throw isPlain ? error.cause : error
    }
  }
  return { ...real, sendText: { ...real.sendText, resume } }
})

vi.mock("../../src/frame/effects/reconcile.ts", async (original) => {
  const real = await original<typeof reconciling>()
  const reconciler: typeof real.reconciler = (reconciled) => {
    const own = real.reconciler(reconciled)
    return {
      ...own,
      perform: (ports, work) => at.work?.endCharge?.(work) ?? own.perform(ports, work),
    }
  }
  return { ...real, reconciler }
})

vi.mock("../../adapters/checkpoints/memory.ts", async (original) => {
  const real = await original<typeof keeping>()
  const openMemoryCheckpoints: typeof real.openMemoryCheckpoints = () => {
    const checkpoints = real.openMemoryCheckpoints()
    return at.work?.checkpoints?.(checkpoints) ?? checkpoints
  }
  return { ...real, openMemoryCheckpoints }
})

afterEach(() => {
  at.work = null
})

describe("the simulation finds a core that", () => {
  const cores = FAULTY_CORES.map((core) => [core.fault, core] as const)
  it.each(cores)("%s", { timeout: FINDING_TIMEOUT_MS }, async (_fault, core) => {
    at.work = core
    const found = await firstBroken(core.flaws ?? {}, core.breaks, core.likely)
    expect(found?.breaks ?? []).toContainEqual(expect.stringMatching(core.breaks))
  })
})
