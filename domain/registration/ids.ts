import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `reg_` and a unique part: one submission for review. */
export type SubmissionId = `reg_${string}`

export const parseSubmissionId = createIdParser("reg_")

export const submissionId = idFieldType("a submission's id", parseSubmissionId)
