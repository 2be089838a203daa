/** Picks that a process left in the middle: each is charged once, and answered when it is asked for again. */
import type { FastifyInstance } from "fastify"
import { beforeEach, describe, expect, it } from "vitest"
import type { Ports } from "../../src/frame/ports.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import type { PlacesInHand } from "./looking.ts"
import {
  ADDRESS,
  CHARGED,
  GIVEN_BACK,
  appOf,
  details,
  leasesOf,
  lines,
  open,
  placesInHand,
} from "./looking.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
let app: FastifyInstance
let places: PlacesInHand
let company: Company
beforeEach(async () => {
  places = placesInHand()
  app = await appOf({ ...world.ports, places })
  company = await makeCompany(world)
})

const ask = (at = app) => details({ app: at }, company)

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
  const things = ports.kept.of({ slice: "places", kind: "pick" })
  const change = ((...given: Parameters<typeof things.change>) => {
    changes += 1
    return dying(changes === 1 ? "take" : "keep", () => things.change(...given))
  }) as typeof things.change
  const execute = ((...given: Parameters<Ports["runner"]["execute"]>) => {
    const isCharge = (given[1] as { readonly type?: string }).type === "Charge"
    const perform = () => ports.runner.execute(...given)
    return isCharge ? dying("charge", perform) : perform()
  }) as Ports["runner"]["execute"]
  return {
    ...ports,
    runner: { ...ports.runner, execute },
    kept: {
      ...ports.kept,
      of: ((kind) =>
        kind.kind === "pick" ? { ...things, change } : ports.kept.of(kind)) as Ports["kept"]["of"],
    },
    places: { ...places, details: (...given) => dying("look up", () => places.details(...given)) },
    closeCharge: (...given) => dying("close", () => ports.closeCharge(...given)),
  }
}

describe("a process that dies in the middle", () => {
  const deaths = STEPS.flatMap((step) =>
    (["before", "after"] as const).map((when) => [when, step] as const),
  )
  it.for(deaths)("right %s it could %s: charged once, answered on retry", async ([when, step]) => {
    const dead = Promise.withResolvers<void>()
    const dying = await appOf(dyingPorts(step, when, dead.resolve))
    void ask(dying)
    await dead.promise
    const isKept = step === "close" || (step === "keep" && when === "after")
    const isTaken = !(step === "take" && when === "before")
    if (isTaken && !isKept) expect((await ask()).body.error).toBe("lookup_limit")
    if (isTaken && !isKept) await leasesOf(world, company, true)
    expect(await ask()).toMatchObject({ status: 200, body: { result: ADDRESS } })
    // Of the two that were made at most, one came back before the other was made.
    const standing = (all: readonly string[]) =>
      all.filter((line) => line.startsWith("charge")).length -
      all.filter((line) => line.startsWith("give_back")).length
    expect(standing(await lines(world, company))).toBe(1)
    await world.operate("clock advance", { duration: "11m" })
    expect([standing(await lines(world, company)), await open(world, company)]).toEqual([1, []])
    expect((await ask()).status).toBe(200)
    expect(places.asked.length).toBeLessThanOrEqual(2)
  })

  it("holds its pick by the store's own time, whatever the test clock does", async () => {
    const dead = Promise.withResolvers<void>()
    void ask(await appOf(dyingPorts("look up", "before", dead.resolve)))
    await dead.promise
    await world.operate("clock advance", { duration: "1m" })
    expect((await ask()).body.error).toBe("lookup_limit")
    const [leasedTo = 0] = await leasesOf(world, company, true)
    expect(Math.abs(leasedTo - Date.now())).toBeLessThan(10 * 60_000)
    expect((await ask()).status).toBe(200)
  })

  it("and nobody asks again: what it left open is given back, or paid for where it is kept", async () => {
    for (const [step, charged] of [
      ["look up", GIVEN_BACK],
      ["close", CHARGED],
    ] as const) {
      company = await makeCompany(world)
      const dead = Promise.withResolvers<void>()
      void ask(await appOf(dyingPorts(step, "before", dead.resolve)))
      await dead.promise
      expect(await open(world, company)).toHaveLength(1)
      await leasesOf(world, company, true)
      await world.operate("clock advance", { duration: "11m" })
      expect([await lines(world, company), await open(world, company)]).toEqual([charged, []])
    }
  })

  it("ends what it left by what came of it, however short addresses are kept", async () => {
    const settings: Ports["settings"] = (of) => ({
      ...world.ports.settings(of),
      PLACES_KEEP: 60_000,
    })
    for (const [step, charged] of [
      ["keep", GIVEN_BACK],
      ["close", CHARGED],
    ] as const) {
      company = await makeCompany(world)
      const dead = Promise.withResolvers<void>()
      const ports = { ...dyingPorts(step, "before", dead.resolve), settings }
      void ask(await appOf(ports))
      await dead.promise
      await leasesOf(world, company, true)
      await world.operate("clock advance", { duration: "11m" })
      expect([await lines(world, company), await open(world, company)]).toEqual([charged, []])
      // What was kept is over, and is looked up and charged anew.
      expect((await ask()).status).toBe(200)
      expect(await lines(world, company)).toEqual([...charged, ...CHARGED])
    }
  })

  it("and is only slow: whoever took its pick meanwhile pays, and it does not", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    places.found = async () => {
      begun.resolve()
      await promise
      return ADDRESS
    }
    const slow = ask()
    await begun.promise
    await leasesOf(world, company, true)
    places.found = async () => ADDRESS
    expect((await ask()).status).toBe(200)
    resolve()
    expect((await slow).body.error).toBe("lookup_limit")
    expect(await lines(world, company)).toEqual([...GIVEN_BACK, ...CHARGED])
    expect((await ask()).body).toEqual({ result: ADDRESS })
  })
})
