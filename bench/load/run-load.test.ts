import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { RequestListener } from "node:http"
import fc from "fast-check"
import { describe, expect, it, onTestFinished } from "vitest"
import { recordingTerminal } from "../../test/operator/fake-host.ts"
import { checkLoad } from "./check-load.ts"
import type { LoadFigures } from "./generate-load.ts"
import { generateLoad } from "./generate-load.ts"
import { CallGenerator } from "./call-generator.ts"
import { Latencies } from "./latencies.ts"
import { CALL_KINDS, openCallSchedule, parseCallMix } from "./call-mix.ts"
import { parseLoadArguments } from "./load-arguments.ts"

const KEYS = { fundedKeys: ["rich"], limitedKey: "poor" }

/** Calls a server with these answers until it was called often enough. */
async function figuresOf(answer: RequestListener, mix: string, most: number): Promise<LoadFigures> {
  let asked = 0
  const enough = new AbortController()
  const server = createServer((request, response) => {
    asked += 1
    if (asked >= most) enough.abort()
    request.resume().once("end", () => answer(request, response))
  })
  server.listen(0, "127.0.0.1")
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as AddressInfo
  return generateLoad({
    host: "127.0.0.1",
    port,
    connections: 2,
    forMs: 600_000,
    mix: parseCallMix(mix),
    calls: [new CallGenerator(KEYS, "run")],
    report: () => undefined,
    signal: enough.signal,
  })
}

const end = (
  response: Parameters<RequestListener>[1],
  status: number,
  body: object,
  headers: Record<string, string> = {},
) => {
  const text = JSON.stringify(body)
  response.writeHead(status, { "content-length": `${text.length}`, ...headers }).end(text)
}

describe("a mix", () => {
  it.each(["", "texts", "texts=0", "texts=1,others=2", "retries=1", "texts=-1"])(
    "is not %j",
    (text) => {
      expect(() => parseCallMix(text)).toThrow(RangeError)
    },
  )

  it("is kept to within one call, at any time", () => {
    const parts = fc.record({
      texts: fc.integer({ min: 1, max: 50 }),
      reads: fc.nat(50),
      refused: fc.nat(50),
      retries: fc.nat(50),
    })
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 500 }), (mix, calls) => {
        const turn = openCallSchedule(mix)
        const had = { texts: 0, reads: 0, refused: 0, retries: 0 }
        for (let i = 0; i < calls; i += 1) had[turn()] += 1
        const total = CALL_KINDS.reduce((sum, kind) => sum + mix[kind], 0)
        for (const kind of CALL_KINDS) {
          expect(Math.abs(had[kind] - (calls * mix[kind]) / total)).toBeLessThan(CALL_KINDS.length)
          if (mix[kind] === 0) expect(had[kind]).toBe(0)
        }
      }),
    )
  })
})

describe("latencies", () => {
  it("are those of all times, at most a twentieth too long", () => {
    const times = fc.array(fc.double({ min: 0.06, max: 60_000, noNaN: true }), { minLength: 1 })
    fc.assert(
      fc.property(times, fc.constantFrom(0.5, 0.9, 0.99, 1), (all, share) => {
        const latencies = new Latencies()
        for (const ms of all) latencies.add(ms)
        const exact = all.toSorted((a, b) => a - b)[Math.ceil(share * all.length) - 1] ?? 0
        expect(latencies.quantile(share)).toBeGreaterThanOrEqual(exact * 0.999)
        expect(latencies.quantile(share)).toBeLessThanOrEqual(exact * 1.051)
      }),
    )
    expect(new Latencies().quantile(0.5)).toBe(0)
  })
})

describe("callers", () => {
  it("find nothing wrong where each text is acknowledged once, and said again is the same", async () => {
    const ids = new Map<string, string>()
    const answer: RequestListener = ({ method, headers }, response) => {
      const name = String(headers["idempotency-key"])
      if (method === "GET") return end(response, 200, {})
      if (headers.authorization === "Bearer poor") {
        return end(response, 429, { error: "spend_limit_reached" })
      }
      const known = ids.get(name)
      const id = known ?? `msg_${ids.size}`
      ids.set(name, id)
      const replayed = known === undefined ? {} : { "Idempotency-Replayed": "true" }
      return end(response, 200, { id }, replayed)
    }
    const figures = await figuresOf(answer, "texts=4,reads=2,refused=1,retries=1", 200)
    expect([...figures.wrong]).toEqual([])
    for (const kind of CALL_KINDS) expect(figures.kinds[kind].latencies.count).toBeGreaterThan(10)
    expect(figures.kinds.refused.statuses).toEqual({
      "429 spend_limit_reached": figures.kinds.refused.latencies.count,
    })
  })

  it.each<[string, RequestListener, string]>([
    [
      "a text that is acknowledged under another's id",
      (_request, response) => end(response, 200, { id: "msg_1" }),
      "texts: two texts were acknowledged as msg_1",
    ],
    [
      "a refusal that nothing gives a reason for",
      (_request, response) => end(response, 402, { error: "payment_required" }),
      "texts: it was answered 402 payment_required",
    ],
  ])("find %s", async (_what, answer, wrong) => {
    const { wrong: found } = await figuresOf(answer, "texts=1", 10)
    expect([...found.keys()]).toContain(wrong)
  })

  it("find a limit that was passed", async () => {
    const answer: RequestListener = (_request, response) => end(response, 200, { id: "msg_1" })
    const { wrong } = await figuresOf(answer, "refused=1", 5)
    expect([...wrong.keys()].join()).toContain("its sender's limit does not pay for")
  })

  it("ask the same again where the server is busy or gone, until they know", async () => {
    let asked = 0
    const names: string[] = []
    const answer: RequestListener = ({ headers, socket }, response) => {
      asked += 1
      names.push(String(headers["idempotency-key"]))
      if (asked === 1) return end(response, 503, { error: "overloaded" })
      if (asked === 2) return void socket.destroy()
      return end(response, 200, { id: `msg_${asked}` })
    }
    const figures = await figuresOf(answer, "texts=1", 4)
    expect(figures.repeated).toBe(2)
    expect(figures.wrong.size).toBe(0)
    expect(new Set(names).size).toBe(names.length - 2)
  })
})

describe("what is looked at afterwards", () => {
  const server = (resources: readonly string[]) => ({
    operate: async (name: string) => {
      if (name === "audit verify") return { checks: [{ name: "hashes chain", ok: true }] }
      if (name === "wait") return {}
      return { events: resources.map((resource) => ({ data: { resource } })), next: null }
    },
  })
  const checkTexts = async (resources: readonly string[], acknowledged: readonly string[]) => {
    const findings = await checkLoad(
      server(resources),
      [{ companyId: "co_1" }],
      new Set(acknowledged),
    )
    return findings.map(({ ok }) => ok)
  }

  it("finds a text that was lost, charged twice, or charged without an acknowledgement", async () => {
    expect(await checkTexts(["msg_1@ab", "msg_2@cd"], ["msg_1", "msg_2"])).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(await checkTexts(["msg_1@ab"], ["msg_1", "msg_2"])).toEqual([false, true, true, true])
    expect(await checkTexts(["msg_1@ab", "msg_1@ab"], ["msg_1"])).toEqual([true, false, true, true])
    expect(await checkTexts(["msg_1@ab", "msg_3@ab"], ["msg_1"])).toEqual([true, true, false, true])
  })
})

describe("the words", () => {
  it.each(["--for soon", "--connections 0", "--mix nothing=1", "--keys many", "more"])(
    "%s are wrong usage, and say why",
    (words) => {
      const terminal = recordingTerminal()
      expect(parseLoadArguments(words.split(" "), terminal)).toBe(2)
      expect(terminal.stderr).toContain("error:")
    },
  )

  it("ask for what they say", () => {
    const terminal = recordingTerminal()
    expect(
      parseLoadArguments("--for 5m --connections 8 --mix texts=1".split(" "), terminal),
    ).toMatchObject({
      forMs: 300_000,
      connections: 8,
      keys: 20,
      json: null,
      mix: { texts: 1, reads: 0, refused: 0, retries: 0 },
    })
  })
})
