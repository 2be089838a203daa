/** Picks that a process left in the middle: each is charged once, and answered when it is asked for again. */
import type { FastifyInstance } from "fastify"
import { beforeEach, describe, expect, it } from "vitest"
import type { Ports } from "../../src/frame/ports.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import type { ControlledPlaces } from "./place-requests.ts"
import {
  SAMPLE_ADDRESS,
  CHARGED_LINES,
  REFUNDED_LINES,
  unlimitedAppOf,
  requestDetails,
  pickLeasesOf,
  billLinesOf,
  pendingChargesOf,
  newControlledPlaces,
} from "./place-requests.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
let app: FastifyInstance
let places: ControlledPlaces
let company: Company
beforeEach(async () => {
  places = newControlledPlaces()
  app = await unlimitedAppOf({ ...world.ports, places })
  company = await makeCompany(world)
})

const ask = (at = app) => requestDetails({ app: at }, company)

/** The steps of a look-up that another process may see, in their order. */
const STEPS = ["take", "charge", "look up", "keep", "close"] as const
type Step = (typeof STEPS)[number]

/** Ports of a process that dies right before or behind a step: from there on nothing of it comes back. */
function dyingPorts(step: Step, when: "before" | "after", dead: () => void): Ports {
  const { ports } = world
  const never = new Promise<never>(() => undefined)
  const dying = async <T>(is: Step, perform: () => Promise<T>): Promise<T> => {
    if (is === step && when === "before") {
      dead()
      return never
    }
    const done = await perform()
    if (is !== step) return done
    dead()
    return never
  }
  let changes = 0
  const things = ports.ttlStore.of({ slice: "places", kind: "pick" })
  const update = ((...given: Parameters<typeof things.update>) => {
    changes += 1
    return dying(changes === 1 ? "take" : "keep", () => things.update(...given))
  }) as typeof things.update
  const execute = ((...given: Parameters<Ports["runner"]["execute"]>) => {
    const isCharge = (given[1] as { readonly type?: string }).type === "Charge"
    const perform = () => ports.runner.execute(...given)
    return isCharge ? dying("charge", perform) : perform()
  }) as Ports["runner"]["execute"]
  return {
    ...ports,
    runner: { ...ports.runner, execute },
    ttlStore: {
      ...ports.ttlStore,
      of: ((kind) =>
        kind.kind === "pick"
          ? { ...things, update }
          : ports.ttlStore.of(kind)) as Ports["ttlStore"]["of"],
    },
    places: {
      ...places,
      findAddress: (...given) => dying("look up", () => places.findAddress(...given)),
    },
    settleCharge: (...given) => dying("close", () => ports.settleCharge(...given)),
  }
}

describe("a process that dies in the middle", () => {
  const deaths = STEPS.flatMap((step) =>
    (["before", "after"] as const).map((when) => [when, step] as const),
  )
  it.for(deaths)("right %s it could %s: charged once, answered on retry", async ([when, step]) => {
    const dead = Promise.withResolvers<void>()
    const dying = await unlimitedAppOf(dyingPorts(step, when, dead.resolve))
    void ask(dying)
    await dead.promise
    const isKept = step === "close" || (step === "keep" && when === "after")
    const isTaken = !(step === "take" && when === "before")
    if (isTaken && !isKept) expect((await ask()).body.error).toBe("lookup_limit")
    if (isTaken && !isKept) await pickLeasesOf(world, company, true)
    expect(await ask()).toMatchObject({ status: 200, body: { result: SAMPLE_ADDRESS } })
    // Of the two that were made at most, one came back before the other was made.
    const standing = (all: readonly string[]) =>
      all.filter((line) => line.startsWith("charge")).length -
      all.filter((line) => line.startsWith("give_back")).length
    expect(standing(await billLinesOf(world, company))).toBe(1)
    await world.operate("clock advance", { duration: "11m" })
    expect([
      standing(await billLinesOf(world, company)),
      await pendingChargesOf(world, company),
    ]).toEqual([1, []])
    expect((await ask()).status).toBe(200)
    expect(places.queries.length).toBeLessThanOrEqual(2)
  })

  it("holds its pick by the store's own time, whatever the test clock does", async () => {
    const dead = Promise.withResolvers<void>()
    void ask(await unlimitedAppOf(dyingPorts("look up", "before", dead.resolve)))
    await dead.promise
    await world.operate("clock advance", { duration: "1m" })
    expect((await ask()).body.error).toBe("lookup_limit")
    const [leasedTo = 0] = await pickLeasesOf(world, company, true)
    expect(Math.abs(leasedTo - Date.now())).toBeLessThan(10 * 60_000)
    expect((await ask()).status).toBe(200)
  })

  it("and nobody asks again: what it left open is given back, or paid for where it is kept", async () => {
    for (const [step, charged] of [
      ["look up", REFUNDED_LINES],
      ["close", CHARGED_LINES],
    ] as const) {
      company = await makeCompany(world)
      const dead = Promise.withResolvers<void>()
      void ask(await unlimitedAppOf(dyingPorts(step, "before", dead.resolve)))
      await dead.promise
      expect(await pendingChargesOf(world, company)).toHaveLength(1)
      await pickLeasesOf(world, company, true)
      await world.operate("clock advance", { duration: "11m" })
      expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
        charged,
        [],
      ])
    }
  })

  it("ends what it left by what came of it, however short addresses are kept", async () => {
    const settings: Ports["settings"] = (of) => ({
      ...world.ports.settings(of),
      PLACES_KEEP: 60_000,
    })
    for (const [step, charged] of [
      ["keep", REFUNDED_LINES],
      ["close", CHARGED_LINES],
    ] as const) {
      company = await makeCompany(world)
      const dead = Promise.withResolvers<void>()
      const ports = { ...dyingPorts(step, "before", dead.resolve), settings }
      void ask(await unlimitedAppOf(ports))
      await dead.promise
      await pickLeasesOf(world, company, true)
      await world.operate("clock advance", { duration: "11m" })
      expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
        charged,
        [],
      ])
      // What was kept is over, and is looked up and charged anew.
      expect((await ask()).status).toBe(200)
      expect(await billLinesOf(world, company)).toEqual([...charged, ...CHARGED_LINES])
    }
  })

  it("and is only slow: whoever took its pick meanwhile pays, and it does not", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    places.nextAddress = async () => {
      begun.resolve()
      await promise
      return SAMPLE_ADDRESS
    }
    const slow = ask()
    await begun.promise
    await pickLeasesOf(world, company, true)
    places.nextAddress = async () => SAMPLE_ADDRESS
    expect((await ask()).status).toBe(200)
    resolve()
    expect((await slow).body.error).toBe("lookup_limit")
    expect(await billLinesOf(world, company)).toEqual([...REFUNDED_LINES, ...CHARGED_LINES])
    expect((await ask()).body).toEqual({ result: SAMPLE_ADDRESS })
  })
})
