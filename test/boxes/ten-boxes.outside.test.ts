/** Ten boxes for an hour of the test clock: the list, the bill and its export add up to the micro-dollar. */
import { expect, it } from "vitest"
import { collect } from "../contracts/event-store-fixture.ts"
import { exported } from "../exports/exported.ts"
import { BOXES, makeBoxCompany, boxWorld, running } from "./boxes-world.ts"
import { reckon } from "./minute-law.ts"
import { makeKey, setLimit } from "../support/company.ts"
import { advance, spentOf } from "../support/world.ts"

const one = await boxWorld()

/** What each asks for, how many minutes that comes to, and why it ends; null where it runs on. */
const TEN = [
  [{ size: "small", maxMinutes: 1 }, 1, "time_cap"],
  [{ size: "small", maxMinutes: 25, idleMinutes: 60 }, 25, "time_cap"],
  [{ size: "small", maxMinutes: 720, idleMinutes: 60 }, 60, "stopped"],
  [{ size: "medium", idleMinutes: 5 }, 5, "idle"],
  [{ size: "medium", idleMinutes: 15 }, 15, "idle"],
  [{ size: "medium", idleMinutes: 60, budget: 0.05 }, 12, "budget"],
  [{ size: "large", idleMinutes: 60, budget: 0.1 }, 12, "budget"],
  [{ size: "large", maxMinutes: 10, idleMinutes: 60, budget: 0.08 }, 10, "time_cap"],
  [{ size: "xlarge", maxMinutes: 7 }, 7, "time_cap"],
  // Of a key of its own, whose day has room for so much.
  [{ size: "xlarge", idleMinutes: 60 }, 6, "spending_limit"],
] as const
const MICROS = { small: 2_000, medium: 4_000, large: 8_000, xlarge: 16_000 } as const

it("ten boxes for an hour", async () => {
  const { world } = one
  const company = await makeBoxCompany(one)
  const { companyId } = company
  await world.operate("company change", { company: companyId, plan: "79" })
  const own = await makeKey(world, company)
  await setLimit(world, company, { key: own.keyId, period: "day", dollars: "0.1" })
  const ids: string[] = []
  for (const [i, [asked]] of TEN.entries()) {
    ids.push(await running(world, i === TEN.length - 1 ? { key: own.key } : company, asked))
  }
  await advance(world, "1h")
  await world.call(company.key, "POST", `${BOXES}/${ids[2]}/stop`)
  await advance(world, "20m")
  const { boxes } = (await world.call(company.key, "GET", BOXES)).body
  const shown = new Map<
    string,
    { stopReason: string; spent: { minutes: number; dollars: number } }
  >(boxes.map((box: { id: string }) => [box.id, box]))
  for (const [i, [asked, minutes, stopReason]] of TEN.entries()) {
    const dollars = (minutes * MICROS[asked.size]) / 1_000_000
    expect(shown.get(ids[i] ?? ""), `box ${i}`).toMatchObject({
      status: "stopped",
      stopReason,
      spent: { minutes, dollars },
    })
  }
  const sum = TEN.reduce((total, [{ size }, minutes]) => total + minutes * MICROS[size], 0)
  expect(await spentOf(world, company)).toBe(sum)
  const { charges } = await world.operate("charge list", { company: companyId, limit: 1_000 })
  const billed = charges.reduce(
    (total: number, { amountMicros }: { amountMicros: number }) => total + amountMicros,
    0,
  )
  expect(billed).toBe(sum)
  const prefixes = ["box", "boxes", "ledger"].map((category) => `${category}-${companyId}`)
  const events = await collect(world.ports.store.readAll({ prefixes }))
  const { wrong, owedMicros } = reckon(events.map(world.ports.streams.recorded), true)
  expect(wrong).toEqual([])
  expect([...owedMicros.values()].reduce((total, micros) => total + micros, 0)).toBe(sum)
  const month = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
  const { lines } = await exported(world, company, month)
  const minutes = lines.filter(({ item }) => item?.startsWith("box_minute_") === true)
  expect(minutes.reduce((total, line) => total - Number(line["amount_micros"]), 0)).toBe(sum)
})
