/** Names of what is sent to the carriers. */
import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `reg_` and a unique part: something that was sent for review, once. */
export type SubmissionId = `reg_${string}`

/** The submission id that a text is. */
export const parseSubmissionId = createIdParser("reg_")

/** Ids of submissions, in the forms of facts. */
export const submissionId = idFieldType("a submission's id", parseSubmissionId)
