/** Picks that a dead process left unfinished: each is charged once, and answered on retry. */
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

const getDetails = (at = app) => requestDetails({ app: at }, company)

/** The steps of a lookup that other processes can observe, in order. */
const STEPS = ["claim", "charge", "look up", "cache", "settle"] as const
type Step = (typeof STEPS)[number]

/** Ports of a process that dies right before or after a step: that step never returns. */
function dyingPorts(step: Step, when: "before" | "after", dead: () => void): Ports {
  const { ports } = world
  const never = new Promise<never>(() => undefined)
  const dying = async <T>(current: Step, perform: () => Promise<T>): Promise<T> => {
    if (current === step && when === "before") {
      dead()
      return never
    }
    const result = await perform()
    if (current !== step) return result
    dead()
    return never
  }
  let changes = 0
  const picks = ports.ttlStore.of({ slice: "places", kind: "pick" })
  const update = ((...args: Parameters<typeof picks.update>) => {
    changes += 1
    return dying(changes === 1 ? "claim" : "cache", () => picks.update(...args))
  }) as typeof picks.update
  const execute = ((...args: Parameters<Ports["runner"]["execute"]>) => {
    const isCharge = (args[1] as { readonly type?: string }).type === "Charge"
    const perform = () => ports.runner.execute(...args)
    return isCharge ? dying("charge", perform) : perform()
  }) as Ports["runner"]["execute"]
  return {
    ...ports,
    runner: { ...ports.runner, execute },
    ttlStore: {
      ...ports.ttlStore,
      of: ((kind) =>
        kind.kind === "pick"
          ? { ...picks, update }
          : ports.ttlStore.of(kind)) as Ports["ttlStore"]["of"],
    },
    places: {
      ...places,
      findAddress: (...args) => dying("look up", () => places.findAddress(...args)),
    },
    settleCharge: (...args) => dying("settle", () => ports.settleCharge(...args)),
  }
}

describe("a pick of a process that dies", () => {
  const deaths = STEPS.flatMap((step) =>
    (["before", "after"] as const).map((when) => [when, step] as const),
  )
  it.for(deaths)(
    "right %s the step %s is charged once, and answered on retry",
    async ([when, step]) => {
      const dead = Promise.withResolvers<void>()
      const dying = await unlimitedAppOf(dyingPorts(step, when, dead.resolve))
      void getDetails(dying)
      await dead.promise
      const isCached = step === "settle" || (step === "cache" && when === "after")
      const isClaimed = !(step === "claim" && when === "before")
      if (isClaimed && !isCached) expect((await getDetails()).body.error).toBe("lookup_limit")
      if (isClaimed && !isCached) await pickLeasesOf(world, company, true)
      expect(await getDetails()).toMatchObject({ status: 200, body: { result: SAMPLE_ADDRESS } })
      // There are at most two charges, and the first was refunded before the second was made.
      const unrefunded = (all: readonly string[]) =>
        all.filter((line) => line.startsWith("charge")).length -
        all.filter((line) => line.startsWith("give_back")).length
      expect(unrefunded(await billLinesOf(world, company))).toBe(1)
      await world.operate("clock advance", { duration: "11m" })
      expect([
        unrefunded(await billLinesOf(world, company)),
        await pendingChargesOf(world, company),
      ]).toEqual([1, []])
      expect((await getDetails()).status).toBe(200)
      expect(places.queries.length).toBeLessThanOrEqual(2)
    },
  )

  it("stays leased by the database's time, whatever the test clock says", async () => {
    const dead = Promise.withResolvers<void>()
    void getDetails(await unlimitedAppOf(dyingPorts("look up", "before", dead.resolve)))
    await dead.promise
    await world.operate("clock advance", { duration: "1m" })
    expect((await getDetails()).body.error).toBe("lookup_limit")
    const [leasedTo = 0] = await pickLeasesOf(world, company, true)
    expect(Math.abs(leasedTo - Date.now())).toBeLessThan(10 * 60_000)
    expect((await getDetails()).status).toBe(200)
  })

  it("and is never retried is refunded, or paid if its address was cached", async () => {
    for (const [step, charged] of [
      ["look up", REFUNDED_LINES],
      ["settle", CHARGED_LINES],
    ] as const) {
      company = await makeCompany(world)
      const dead = Promise.withResolvers<void>()
      void getDetails(await unlimitedAppOf(dyingPorts(step, "before", dead.resolve)))
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

  it("is settled or refunded by its outcome, however short the cache time is", async () => {
    const settings: Ports["settings"] = (of) => ({
      ...world.ports.settings(of),
      PLACES_KEEP: 60_000,
    })
    for (const [step, charged] of [
      ["cache", REFUNDED_LINES],
      ["settle", CHARGED_LINES],
    ] as const) {
      company = await makeCompany(world)
      const dead = Promise.withResolvers<void>()
      const ports = { ...dyingPorts(step, "before", dead.resolve), settings }
      void getDetails(await unlimitedAppOf(ports))
      await dead.promise
      await pickLeasesOf(world, company, true)
      await world.operate("clock advance", { duration: "11m" })
      expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
        charged,
        [],
      ])
      // The cached address has expired, so it is looked up and charged again.
      expect((await getDetails()).status).toBe(200)
      expect(await billLinesOf(world, company)).toEqual([...charged, ...CHARGED_LINES])
    }
  })
})

describe("a pick of a slow process", () => {
  it("is charged once, by the process that took it over", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    places.nextAddress = async () => {
      started.resolve()
      await promise
      return SAMPLE_ADDRESS
    }
    const slow = getDetails()
    await started.promise
    await pickLeasesOf(world, company, true)
    places.nextAddress = async () => SAMPLE_ADDRESS
    expect((await getDetails()).status).toBe(200)
    resolve()
    expect((await slow).body.error).toBe("lookup_limit")
    expect(await billLinesOf(world, company)).toEqual([...REFUNDED_LINES, ...CHARGED_LINES])
    expect((await getDetails()).body).toEqual({ result: SAMPLE_ADDRESS })
  })
})
