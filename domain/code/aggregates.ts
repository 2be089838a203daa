import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { CodeEvent } from "./code-events.ts"
import { codeCodec } from "./code-events.ts"
import { codeDecider, codeBytes, codeCheckpoint } from "./code.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly code: CodeEvent
  }
}

export const CODE_AGGREGATE = {
  category: "code" as const,
  decider: codeDecider,
  codec: codeCodec,
  checkpoint: codeCheckpoint,
  bytesOf: codeBytes,
}

/** Names the stream `code-<companyId>`. */
export const codeStreamOf = (companyId: CompanyId) => streamOf(CODE_AGGREGATE, companyId)
