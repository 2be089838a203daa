/** Every kind of stream there is, by the names of its streams. */
import { ACCESS } from "../../../domain/access/aggregates.ts"
import { LEDGER, PRICES, REFUSALS } from "../../../domain/charging/aggregates.ts"
import { COMPANIES } from "../../../domain/company/aggregates.ts"
import { APP, RELEASES } from "../../../domain/connection/aggregates.ts"
import type { Codec } from "../../../domain/kernel/format.ts"
import { FormatFault } from "../../../domain/kernel/format.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { categoryOf } from "../../../domain/kernel/streams.ts"
import { PHONE, RECIPIENT } from "../../../domain/phone/aggregates.ts"
import type { AnyFact } from "../../../projections/kernel/projection.ts"

const OF_COMPANIES = [ACCESS, APP, LEDGER, PHONE, RECIPIENT, REFUSALS]
const OF_INSTALLATION = [COMPANIES, PRICES, RELEASES]

const KINDS = [...OF_COMPANIES, ...OF_INSTALLATION.map(({ aggregate }) => aggregate)]

const CODECS: ReadonlyMap<string, unknown> = new Map(
  KINDS.map(({ category, codec }) => [category, codec]),
)

/** The streams that belong to no company. */
export const INSTALLATION_STREAMS: ReadonlySet<string> = new Set(
  OF_INSTALLATION.map(({ stream }) => stream),
)

/** The categories of streams that each belong to a company. */
export const COMPANY_CATEGORIES: ReadonlySet<string> = new Set(
  OF_COMPANIES.map(({ category }) => category),
)

/** The beginnings of the names of all streams that a company can have. */
export function prefixesOfCompany(companyId: CompanyId): readonly string[] {
  return [...COMPANY_CATEGORIES].map((category) => `${category}-${companyId}`)
}

/** The categories in which facts of these types stand, and what else stands there. */
export function categoriesOf(types: ReadonlySet<string>): {
  readonly categories: readonly string[]
  readonly ignores: readonly string[]
} {
  const found = KINDS.filter(({ codec }) => codec.types.some((type) => types.has(type)))
  const all = found.flatMap(({ codec }): readonly string[] => codec.types)
  return {
    categories: found.map(({ category }) => category),
    ignores: all.filter((type) => !types.has(type)),
  }
}

/** The codec of a stream's facts. @throws FormatFault where no decider has such streams */
export function codecOfStream(stream: string): Codec<AnyFact> {
  const codec = CODECS.get(categoryOf(stream))
  if (codec === undefined) throw new FormatFault(`no decider has a stream ${stream}`)
  return codec as Codec<AnyFact>
}
