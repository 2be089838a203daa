import { PROGRAM } from "../../src/slices.ts"
import { recipientOf } from "../../domain/phone/aggregates.ts"
import { describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { SEGMENT, TEXTS, chargesOf, fundsOf, newNumber, sendText } from "./texting.ts"

const world = await sharedWorld()

/** The company's number, asked for with a text to somebody else. */
async function numberOf({ key }: Company): Promise<string> {
  return (await sendText(world, key)).body.from
}

describe("a STOP and a send", () => {
  it("have one order: no text is queued behind the STOP, and none is paid for", async () => {
    const company = await makeCompany(world)
    const from = await numberOf(company)
    const to = newNumber()
    const stop = () => world.operate("carrier text-in", { from: to, to: from, body: "STOP" })
    const sends = Array.from({ length: 40 }, (_none, i) => {
      const sending = sendText(world, company.key, { to })
      return i === 20 ? Promise.all([sending, stop()]).then(([sent]) => sent) : sending
    })
    const answers = await Promise.all(sends)
    await world.operate("wait")

    const { companyId } = company
    const stream = recipientOf(companyId, await world.ports.sealing.tag(companyId, to)).stream
    const facts: string[] = []
    for await (const page of world.ports.store.read(stream)) {
      for (const { type, data } of page) {
        const isReply = data.includes('"purpose":"opt_out_reply"')
        if (type === "OptedOutByText" || (type === "TextQueued" && !isReply)) facts.push(type)
      }
    }
    expect(facts.at(-1)).toBe("OptedOutByText")
    const passed = answers.filter(({ status }) => status === 200)
    expect(facts).toHaveLength(passed.length + 1)
    for (const { status, body } of answers.filter((one) => one.status !== 200)) {
      expect([status, body.error]).toEqual([409, "opted_out"])
    }
    expect(await fundsOf(world, company)).toBe(50_000_000 - (passed.length + 1) * SEGMENT)
    const states = (await chargesOf(world, company)).map(({ state }) => state)
    expect(states.filter((state) => state === "open")).toEqual([])
  })

  it("that come between charge and queue give the charge back, and answer 409", async () => {
    const company = await makeCompany(world)
    const from = await numberOf(company)
    const to = newNumber()
    const { runner } = world.ports
    const execute = (async (stream, command, ...rest) => {
      if ((command as { readonly type?: string }).type === "QueueText") {
        await world.operate("carrier text-in", { from: to, to: from, body: "stop" })
      }
      return runner.execute(stream, command, ...rest)
    }) as Ports["runner"]["execute"]
    const app = await buildApp(
      { ...world.ports, runner: { ...runner, execute } },
      PROGRAM.entries,
      PROGRAM.retired,
    )
    const answer = await app.inject({
      method: "POST",
      url: TEXTS,
      headers: { authorization: `Bearer ${company.key}` },
      payload: { to, body: "Hello" },
    })
    await app.close()
    expect([answer.statusCode, answer.json().error]).toEqual([409, "opted_out"])
    expect(await chargesOf(world, company)).toMatchObject([
      { state: "final" },
      { micros: SEGMENT, state: "given_back" },
    ])
    expect(await fundsOf(world, company)).toBe(50_000_000 - SEGMENT)
  })
})
