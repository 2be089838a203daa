/** A company's code: the stream `code-<companyId>`. */
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

/** A company's code. */
export const CODE_AGGREGATE = {
  category: "code" as const,
  decider: codeDecider,
  codec: codeCodec,
  checkpoint: codeCheckpoint,
  bytesOf: codeBytes,
}

/** The stream of a company's code. */
export const codeStreamOf = (companyId: CompanyId) => streamOf(CODE_AGGREGATE, companyId)
