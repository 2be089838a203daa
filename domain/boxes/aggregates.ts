import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { SlotEvent } from "../kernel/slots.ts"
import { defineSlots } from "../kernel/slots.ts"
import type { BoxEvent } from "./box-events.ts"
import { boxCodec } from "./box-events.ts"
import { boxDecider, boxBytes, boxCheckpoint } from "./box.ts"
import type { BoxId } from "./ids.ts"
import { boxId as boxIdType } from "./ids.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly box: BoxEvent
    readonly boxes: SlotEvent<BoxId>
  }
}

export const BOX_AGGREGATE = {
  category: "box" as const,
  decider: boxDecider,
  codec: boxCodec,
  checkpoint: boxCheckpoint,
  bytesOf: boxBytes,
}

/** Names the stream `box-<companyId>-<boxId>`. */
export const boxStreamOf = (companyId: CompanyId, boxId: BoxId) =>
  streamOf(BOX_AGGREGATE, companyId, boxId)

/** The slots of a company's boxes. */
export const BOX_SLOTS_AGGREGATE = { category: "boxes" as const, ...defineSlots(boxIdType, 0) }

/** Names the stream `boxes-<companyId>` of a company's box slots. */
export const boxSlotsStreamOf = (companyId: CompanyId) => streamOf(BOX_SLOTS_AGGREGATE, companyId)
