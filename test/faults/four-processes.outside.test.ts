/** Four processes on the same stores take charges on limits that are worth exactly so many. */
import { randomUUID } from "node:crypto"
import { expect, it } from "vitest"
import { setLimit } from "../support/company.ts"
import { ownDatabase } from "../support/world-database.ts"
import { ownDataFolder } from "../support/server-process.ts"
import type { ApiAnswer } from "../support/world.ts"
import type { TextSender } from "./text-load.ts"
import { PRICE_MICROS, senderOverHttp, roundCount } from "./text-load.ts"
import { makeSender, expectSoundLedger } from "./charge-audit.ts"

const PROCESSES = 4
const TEXTS = roundCount(120, 10_000)
/** So many of them fit. */
const FITTING = TEXTS / 4
const CALLERS = roundCount(32, 64)

const settings = { DATABASE_URL: await ownDatabase(), RATE_LIMITS: "off" }
const one = await ownDataFolder(settings)
const first = await one.start()
// The price of a call is set before the others start: for a second they may know the former one.
await makeSender(one)
const others = Array.from({ length: PROCESSES - 1 }, async () =>
  (await ownDataFolder(settings)).start(),
)
const addresses = [first, ...(await Promise.all(others))].map(({ url }) => url)

/** Sends so many texts, to each process in turn; repeats what nobody knows. */
async function sendAll(key: string): Promise<readonly { name: string; answer: ApiAnswer }[]> {
  const sends: readonly TextSender[] = addresses.map((address) =>
    senderOverHttp(() => address, key),
  )
  const answers: { name: string; answer: ApiAnswer }[] = []
  let begun = 0
  const callers = Array.from({ length: CALLERS }, async () => {
    for (let i = begun++; i < TEXTS; i = begun++) {
      const [send, name] = [sends[i % PROCESSES] as TextSender, randomUUID()]
      let answer: ApiAnswer | null = null
      while (answer === null || answer.status === 503 || answer.status === 409) {
        answer = await send(name, `+1415555${String(1_000 + (i % 200))}`)
      }
      answers.push({ name, answer })
    }
  })
  await Promise.all(callers)
  return answers
}

const dollars = (micros: number) => (micros / 1e6).toFixed(6)
const worth = dollars(FITTING * PRICE_MICROS)
const ampler = dollars((FITTING + 1) * PRICE_MICROS)

/** The limits of company, person and key; the one that is named is the narrowest. */
const CASES = [
  { narrow: "company", company: worth, person: ampler, key: ampler },
  { narrow: "person", company: ampler, person: worth, key: ampler },
  { narrow: "key", company: ampler, person: ampler, key: worth },
  { narrow: "all at once", company: worth, person: worth, key: worth },
]

it.each(CASES)(
  "lets exactly so many pass where the limit is the narrowest: $narrow",
  async ({ narrow, company, person, key }) => {
    const sender = await makeSender(one, { limits: [{ dollars: company }] })
    await setLimit(one, sender, { person: sender.ownerId, dollars: person })
    await setLimit(one, sender, { key: sender.keyId, dollars: key })

    const answers = await sendAll(sender.key)
    const passed = answers.filter(({ answer }) => answer.status === 200)
    expect(passed).toHaveLength(FITTING)
    const refused = answers.filter(({ answer }) => answer.status !== 200)
    expect(refused).toHaveLength(TEXTS - FITTING)
    // Of several that are used up the key's stands first.
    const holder = narrow === "all at once" ? "key" : narrow
    for (const { answer } of refused) {
      // Who came when it was used up has a refused key; the others' charge did not fit.
      const isDeadKey = holder === "key" && answer.body.limit.askedMicros === 0
      expect(answer).toMatchObject({
        status: isDeadKey ? 401 : 429,
        body: {
          error: isDeadKey ? "invalid_key" : "spend_limit_reached",
          limit: { holder, remainingMicros: 0 },
        },
      })
    }
    const acknowledged = new Map(passed.map(({ name, answer }) => [name, answer.body.id as string]))
    await one.operate("wait")
    await expectSoundLedger(one, { ...sender, acknowledged })
    const { limits } = await one.operate("limit list", { company: sender.companyId })
    const used = limits.map(({ usedMicros }: { usedMicros: number }) => usedMicros)
    expect(used).toEqual([1, 1, 1].map(() => FITTING * PRICE_MICROS))
  },
  600_000,
)
