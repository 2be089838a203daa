/** Four processes on the same stores charge against limits that fit exactly a known number of texts. */
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
/** Number of texts within the narrowest limit. */
const TEXTS_WITHIN_LIMIT = TEXTS / 4
const CALLERS = roundCount(32, 64)

const settings = { DATABASE_URL: await ownDatabase(), RATE_LIMITS: "off" }
const one = await ownDataFolder(settings)
const first = await one.start()
// Sets the call price before the others start, because a running process may use the former price for a second.
await makeSender(one)
const others = Array.from({ length: PROCESSES - 1 }, async () =>
  (await ownDataFolder(settings)).start(),
)
const addresses = [first, ...(await Promise.all(others))].map(({ url }) => url)

/** Sends all texts, to each process in turn, and retries unknown outcomes. */
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
const narrowLimit = dollars(TEXTS_WITHIN_LIMIT * PRICE_MICROS)
const wideLimit = dollars((TEXTS_WITHIN_LIMIT + 1) * PRICE_MICROS)

/** The limits of company, person and key; `narrow` names the narrowest. */
const CASES = [
  { narrow: "company", company: narrowLimit, person: wideLimit, key: wideLimit },
  { narrow: "person", company: wideLimit, person: narrowLimit, key: wideLimit },
  { narrow: "key", company: wideLimit, person: wideLimit, key: narrowLimit },
  { narrow: "all of them", company: narrowLimit, person: narrowLimit, key: narrowLimit },
]

it.each(CASES)(
  "accepts exactly the texts within the narrowest limit: $narrow",
  async ({ narrow, company, person, key }) => {
    const sender = await makeSender(one, { limits: [{ dollars: company }] })
    await setLimit(one, sender, { person: sender.ownerId, dollars: person })
    await setLimit(one, sender, { key: sender.keyId, dollars: key })

    const answers = await sendAll(sender.key)
    const passed = answers.filter(({ answer }) => answer.status === 200)
    expect(passed).toHaveLength(TEXTS_WITHIN_LIMIT)
    const refused = answers.filter(({ answer }) => answer.status !== 200)
    expect(refused).toHaveLength(TEXTS - TEXTS_WITHIN_LIMIT)
    // If several limits are used up, the refusal names the key's first.
    const holder = narrow === "all of them" ? "key" : narrow
    for (const { answer } of refused) {
      // After the key's limit is used up, the key is rejected; before that, a charge exceeds the limit.
      const isKeyRejected = holder === "key" && answer.body.limit.askedMicros === 0
      expect(answer).toMatchObject({
        status: isKeyRejected ? 401 : 429,
        body: {
          error: isKeyRejected ? "invalid_key" : "spend_limit_reached",
          limit: { holder, remainingMicros: 0 },
        },
      })
    }
    const acknowledged = new Map(passed.map(({ name, answer }) => [name, answer.body.id as string]))
    await one.operate("wait")
    await expectSoundLedger(one, { ...sender, acknowledged })
    const { limits } = await one.operate("limit list", { company: sender.companyId })
    const used = limits.map(({ usedMicros }: { usedMicros: number }) => usedMicros)
    expect(used).toEqual([1, 1, 1].map(() => TEXTS_WITHIN_LIMIT * PRICE_MICROS))
  },
  600_000,
)
