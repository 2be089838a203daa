/** Names of what is sent to the carriers. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `reg_` and a unique part: something that was sent for review, once. */
export type SubmissionId = `reg_${string}`

/** The submission id that a text is. */
export const parseSubmissionId = idParser("reg_")

/** Ids of submissions, in the forms of facts. */
export const submissionId = idKind("a submission's id", parseSubmissionId)
