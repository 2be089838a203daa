/** What operators do with boxes, how people read it, and what is measured of them. */
import { describe, expect, it } from "vitest"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { boxOperations } from "../../src/boxes/operate/boxes.ts"
import { BOXES, makeBoxCompany, boxWorld, running } from "./boxes-world.ts"

const PLAIN = { isTTY: false, columns: 200 }

const one = await boxWorld()
const { world } = one
const company = await makeBoxCompany(one)

function shown(name: string, result: object): string {
  const { render } = boxOperations.find((operation) => operation.name === name) ?? {}
  if (render === undefined) throw new Error(`${name} is shown as it is`)
  return render(result, PLAIN)
}

describe("box list", () => {
  it("is a line a box, the newest first, also those that ended", async () => {
    const { companyId } = company
    const none = await world.operate("box list", { company: companyId })
    expect(shown("box list", none)).toBe("No boxes.\n")
    const first = await running(world, company, { label: "Fix it" })
    await world.call(company.key, "POST", `${BOXES}/${first}/stop`)
    await world.operate("clock advance", { duration: "1s" })
    const second = await running(world, company)
    const listed = await world.operate("box list", { company: companyId })
    expect(listed.boxes).toMatchObject([
      { id: second, status: "running", companyId, personId: company.ownerId },
      { id: first, status: "stopped", stopReason: "stopped", keyId: company.keyId },
    ])
    const [head, ...lines] = shown("box list", listed).trimEnd().split("\n")
    expect(head?.split(/ {2,}/)).toEqual([
      "id",
      "size",
      "status",
      "stop reason",
      "created at",
      "minutes",
      "dollars",
      "label",
    ])
    expect(lines.map((line) => line.split(/ {2,}/).filter((cell) => cell !== "-"))).toEqual([
      [second, "small", "running", expect.stringMatching(/Z$/), "1", "0.002"],
      [first, "small", "stopped", "stopped", expect.stringMatching(/Z$/), "1", "0.002", "Fix it"],
    ])
    const newest = await world.operate("box list", { company: companyId, limit: 1 })
    expect(newest.boxes).toMatchObject([{ id: second }])
    await world.operate("box stop", { boxId: second })
    await world.operate("wait")
  })
})

describe("box show and box stop", () => {
  it("show a box with its machine, and end it as nobody's doing", async () => {
    const boxId = await running(world, company)
    const { companyId } = company
    expect(await world.operate("box show", { boxId })).toMatchObject({
      id: boxId,
      companyId,
      status: "running",
      machine: { isBusy: false, network: "slirp", leaseLeftMs: expect.any(Number) as number },
    })
    const stopped = { id: boxId, status: "stopped", stopReason: "stopped" }
    expect(await world.operate("box stop", { boxId })).toMatchObject(stopped)
    expect(await world.operate("box stop", { boxId })).toMatchObject(stopped)
    await world.operate("wait")
    const after = await world.operate("box show", { boxId })
    expect(after).toMatchObject({ ...stopped, machine: null })
  })

  it("know no box of another name", async () => {
    for (const name of ["box show", "box stop"]) {
      for (const boxId of ["nonsense", "box_4Zb0x7", company.companyId]) {
        await expect(world.operate(name, { boxId })).rejects.toThrow(`There is no box ${boxId}.`)
      }
    }
  })
})

describe("box sweep, and what is measured", () => {
  it("ends machines that nobody knows, and lets the others be", async () => {
    const kept = await running(world, company)
    const boxId = `box_${"0".repeat(22)}` as BoxId
    await world.ports.boxHost.start({
      boxId,
      companyId: company.companyId,
      size: "small",
      leaseMs: 60_000,
      environment: {},
    })
    expect(await world.operate("box sweep")).toEqual({ machines: 1, ended: [boxId] })
    expect(await world.operate("box sweep")).toEqual({ machines: 1, ended: [] })
    expect(await world.ports.boxHost.list()).toEqual([kept])
    const { body } = await world.call(null, "GET", "/metrics")
    const lines = body.split("\n").filter((line: string) => line.startsWith("ledger_box"))
    expect(lines.toSorted()).toEqual([
      "ledger_box_orphans_total 1",
      "ledger_box_start_seconds_total 0",
      'ledger_box_starts_total{result="made"} 4',
      'ledger_boxes{status="running"} 1',
      'ledger_boxes{status="stopped"} 3',
    ])
    await world.call(company.key, "DELETE", `${BOXES}/${kept}`)
  })
})
