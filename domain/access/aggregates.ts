import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { AccessEvent } from "./access-events.ts"
import { accessCodec } from "./access-events.ts"
import { accessDecider, accessBytes } from "./access.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly access: AccessEvent
  }
}

/** The people, keys, plan and card of a company. */
export const ACCESS_AGGREGATE = {
  category: "access" as const,
  decider: accessDecider,
  codec: accessCodec,
  bytesOf: accessBytes,
}

/** Names the stream `access-<companyId>`. */
export const accessStreamOf = (companyId: CompanyId) => streamOf(ACCESS_AGGREGATE, companyId)
