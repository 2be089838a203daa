/**
 * Run by node with --expose-gc in a process of its own: folds the stream `companies` with a million companies from its
 * texts, without reading and hashing them, and prints the cost as JSON.
 */
import { performance } from "node:perf_hooks"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import { companyCount } from "../../domain/company/companies.ts"
import { assertMeasurement } from "../benchmark.ts"

const COUNT = 1_000_000
const AT_ONCE = 10_000
const AT = "2026-11-26T12:00:00.000Z"
const { codec, decider } = COMPANIES_STREAM.aggregate
const TYPE = "CompanyRegistered"

const textOf = (i: number): string => {
  const tag = i.toString(36).padStart(6, "0")
  const sealed = `s1.co_${tag}.${"c".repeat(40)}`
  const personId = `per_${tag.padStart(22, "0")}`
  const emailTag = tag.padStart(64, "e")
  const owner = { email: sealed, emailTag, name: sealed, personId }
  const funds = { fundsMicros: "0", pays: "prepaid", plan: "payg", withNumber: false }
  const named = { companyId: `co_${tag}`, name: sealed, nameTag: tag.padStart(64, "0") }
  return JSON.stringify({ at: AT, ...named, ...funds, owner })
}

function used(): number {
  for (let i = 0; i < 3; i += 1) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

const before = used()
let state = decider.initial()
let ms = 0
for (let from = 0; from < COUNT; from += AT_ONCE) {
  const texts = Array.from({ length: AT_ONCE }, (_, i) => textOf(from + i))
  const begun = performance.now()
  for (const text of texts) {
    state = decider.evolve(state, codec.decode(TYPE, codec.version(TYPE), text))
  }
  ms += performance.now() - begun
}
assertMeasurement(companyCount(state) === COUNT, "a company is missing")
process.stdout.write(JSON.stringify({ ms, bytes: used() - before, count: companyCount(state) }))
