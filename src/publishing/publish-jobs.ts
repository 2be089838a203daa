/** Jobs that facts about a publish enqueue. */
import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import { parsePublishId } from "../../domain/publishing/ids.ts"
import { idSchema } from "../frame/kernel/schema.ts"

export const PublishPayload = z.object({ publishId: idSchema(parsePublishId) })

export type PublishPayload = z.infer<typeof PublishPayload>

/** The fields of a publish's fact that its job needs. */
interface PublishEventData {
  readonly publishId: PublishId
  readonly at: number
}
interface EventContext {
  readonly companyId: CompanyId
  readonly revision: number
}

/** Enqueues a job, due `afterMs` milliseconds after the fact. */
export const publishJob =
  (afterMs = 0) =>
  ({ publishId, at }: PublishEventData, { revision }: EventContext) => [
    { name: `${publishId}:${revision}`, payload: { publishId }, dueAt: at + afterMs },
  ]

/** Enqueues a job that runs immediately, but after the company's earlier builds and deletions. */
export const orderedPublishJob = (fact: PublishEventData, context: EventContext) =>
  publishJob()(fact, context).map((row) => ({ ...row, subject: `${context.companyId} publishing` }))
