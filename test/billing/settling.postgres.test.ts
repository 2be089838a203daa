import { sql } from "kysely"
import { beforeEach, describe, expect, it } from "vitest"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { formatBillHead, openBillTotals, checkBillSums } from "../../src/billing/bill.ts"
import { executeCommands } from "../projections/ledger-requests.ts"
import { chargeCommandFor } from "../projections/every-fact.ts"
import { type Company, type World, makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import {
  EMPTY_BILL_HEAD,
  SAMPLE_BILL_LINE,
  exportMonth,
  exportMonthAs,
  csvRecords,
} from "./bill-export.ts"

const world = await ownWorld("time")
let company: Company
const month = () => new Date(world.ports.clock.now()).toISOString().slice(0, 7)
await makeCallsFree(world)
await world.operate("clock set", { to: "2031-03-10T12:00:00.000Z" })
beforeEach(async () => {
  company = await makeCompany(world)
})

function readAs(change: (stored: StoredEvent) => StoredEvent | null): World {
  const { store } = world.ports
  const read: EventStore["read"] = async function* (stream, range) {
    for await (const page of store.read(stream, range)) {
      yield page.map(change).filter((stored) => stored !== null)
    }
  }
  return { ...world, ports: { ...world.ports, store: { ...store, read } } }
}

describe("an edited read model", () => {
  it("changes neither the lines of a file nor their month", async () => {
    await executeCommands(
      world,
      company,
      chargeCommandFor({ chargeId: "chg_1" }),
      chargeCommandFor({ chargeId: "chg_2" }),
    )
    await world.operate("clock set", { to: "2031-04-02T00:00:00.000Z" })
    await executeCommands(world, company, chargeCommandFor({ chargeId: "chg_3" }))
    await world.operate("wait")
    const files = () =>
      Promise.all(
        ["2031-03", "2031-04"].flatMap((name) =>
          ["csv", "focus-csv", "hledger", "ndjson"].map(async (format) => {
            const { bytes } = await exportMonthAs(world, company, name, format)
            return bytes.toString()
          }),
        ),
      )
    const before = await files()
    const of = sql`where company_id = ${company.companyId}`
    const db = world.ports.readAll
    await sql`update charges set amount_micros = amount_micros - 1 ${of}
      and charge_id = 'chg_1'`.execute(db)
    await sql`update charges set amount_micros = amount_micros + 1, person_id = 'per_other',
      item = 'other' ${of} and charge_id = 'chg_2'`.execute(db)
    await sql`update months set head_revision = head_revision - 1 ${of}`.execute(db)
    expect(await files()).toEqual(before)
  })
})

describe("a corrupt ledger", () => {
  let name: string
  const charged = ({ type, data }: StoredEvent) => type === "Charged" && data.includes("chg_1")
  beforeEach(async () => {
    name = month()
    await executeCommands(
      world,
      company,
      chargeCommandFor({ chargeId: "chg_1" }),
      chargeCommandFor({ chargeId: "chg_2" }),
    )
  })
  const corrupt = /^ledger-co_\w+ was changed at revision (\d+): expected .+, found /
  const refused = async (changed: World, exported: string) => {
    const chunks: string[] = []
    const exporting = exportMonthAs(changed, company, exported, "csv", {
      onChunk: async () => void chunks.push(exported),
    })
    await expect(exporting).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(corrupt),
    })
    return chunks.length
  }

  it("is rejected if a fact was changed, before the last chunk is sent", async () => {
    const other = readAs((stored) =>
      charged(stored) ? { ...stored, data: stored.data.replace("chg_1", "chg_9") } : stored,
    )
    expect(await refused(other, name)).toBe(1)
  })

  it("is rejected if a fact is missing, or if a month was closed with another head", async () => {
    await refused(
      readAs((stored) => (charged(stored) ? null : stored)),
      name,
    )
    await world.operate("clock advance", { duration: "31d" })
    await executeCommands(world, company, chargeCommandFor({ chargeId: "chg_3" }))
    expect((await exportMonth(world, company, name)).result.state).toBe("closed")
    const resealed = readAs((stored) => {
      if (stored.type !== "MonthClosed") return stored
      return { ...stored, data: stored.data.replace(/"headHash":"./, '"headHash":"') }
    })
    await refused(resealed, name)
    await refused(resealed, month())
    const moved = readAs((stored) => {
      if (stored.type !== "MonthClosed") return stored
      const fundsMicros = stored.data.replace(/"fundsMicros":"\d/, '"fundsMicros":"7')
      return { ...stored, data: fundsMicros }
    })
    await refused(moved, month())
  })

  it("is rejected if a fact cannot be read", async () => {
    const other = readAs((stored) => (charged(stored) ? { ...stored, data: "{}" } : stored))
    await expect(exportMonth(other, company, name)).rejects.toMatchObject({
      code: expect.stringMatching(/conflict|unavailable/),
      message: expect.stringMatching(/^ledger-co_\w+ (cannot be read|is not as it was sealed)/),
    })
  })
})

describe("lines that do not add up to the ledger's sums", () => {
  it.each([
    ["charged", { sums: { ...EMPTY_BILL_HEAD.sums, chargedMicros: 3 } }, "charged is 2 micros"],
    [
      "charges",
      { sums: { ...EMPTY_BILL_HEAD.sums, chargedMicros: 2 } },
      "charges is 1 by the lines",
    ],
    [
      "funds",
      { sums: { ...EMPTY_BILL_HEAD.sums, chargedMicros: 2, charges: 1 } },
      "the funds by -2 micros",
    ],
  ])("are rejected by their %s, with both sums", (_name, head, says) => {
    const fold = openBillTotals()
    fold.add([{ ...SAMPLE_BILL_LINE, amountMicros: -2 }])
    const settle = () => checkBillSums({ ...EMPTY_BILL_HEAD, ...head }, fold)
    expect(settle).toThrow(`The lines of 1970-01 do not add up: `)
    expect(settle).toThrow(says)
  })
})

describe("progress", () => {
  it("shows the lines, the speed and the time left", async () => {
    const messages: string[] = []
    await exportMonthAs(world, company, month(), "csv", {
      progress: (message) => messages.push(message),
    })
    expect(messages).toEqual([
      expect.stringMatching(/^1 lines, \d+ %, [\d,]+ a second, \d+ s left$/),
    ])
  })
})

describe("a refund", () => {
  it("is a correction in FOCUS only after the month of its charge is closed", async () => {
    const open = { isPending: true, unitPriceMicros: 9_000, amountMicros: 9_000 }
    const refund = (chargeId: string) =>
      executeCommands(world, company, {
        type: "RefundPendingCharge",
        chargeId,
        amountMicros: null,
        reason: "failed",
      })
    await executeCommands(world, company, chargeCommandFor({ chargeId: "chg_1", ...open }))
    await executeCommands(world, company, chargeCommandFor({ chargeId: "chg_2", ...open }))
    await refund("chg_1")
    const first = month()
    await world.operate("clock advance", { duration: "31d" })
    await refund("chg_2")
    const classes = async (name: string) => {
      const { bytes } = await exportMonthAs(world, company, name, "focus-csv")
      const rows = csvRecords(bytes.toString("utf8"))
      return rows.map((row) => [row["x_Kind"], row["ChargeClass"], row["BilledCost"]])
    }
    expect(await classes(first)).toEqual([
      ["funds_added", "", "0.00"],
      ["charge", "", "0.009"],
      ["charge", "", "0.009"],
      ["give_back", "", "-0.009"],
    ])
    expect(await classes(month())).toEqual([["give_back", "Correction", "-0.009"]])
  })
})

describe("a head", () => {
  it("is formatted as stream, revision and hash", () => {
    expect(formatBillHead(EMPTY_BILL_HEAD)).toBe(`ledger-co_aaaaaa@41:${"ab".repeat(32)}`)
  })
})
