/** What follows from a fact about a publish, as rows of work. */
import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import { parsePublishId } from "../../domain/publishing/ids.ts"
import { idSchema } from "../frame/kernel/schema.ts"

/** Which publish a row is about. */
export const PublishPayload = z.object({ publishId: idSchema(parsePublishId) })

/** Which publish a row is about. */
export type PublishPayload = z.infer<typeof PublishPayload>

/** A fact about a publish, and where it stands. */
interface PublishEventData {
  readonly publishId: PublishId
  readonly at: number
}
interface EventContext {
  readonly companyId: CompanyId
  readonly revision: number
}

/** A row for each such fact, due so long after it, milliseconds. */
export const publishJob =
  (afterMs = 0) =>
  ({ publishId, at }: PublishEventData, { revision }: EventContext) => [
    { name: `${publishId}:${revision}`, payload: { publishId }, dueAt: at + afterMs },
  ]

/** The same at once, one after the other within a company: what builds, and what clears away for it. */
export const orderedPublishJob = (fact: PublishEventData, place: EventContext) =>
  publishJob()(fact, place).map((row) => ({ ...row, subject: `${place.companyId} publishing` }))
