/** What a run did not measure, and why. */

/**
 * Why: the store cannot have it measured, a point lies beyond `--most`, something that it is measured
 * against is not there (a peer that is not installed), it broke or was not honest, or it was interrupted.
 */
export type LeftOutReason = "store" | "most" | "absent" | "fault" | "interrupted"

/** Something that was not measured. */
export interface LeftOut {
  readonly benchmark: string
  readonly reason: LeftOutReason
  readonly message: string
}

/** In a line. */
export function leftOutLine({ benchmark, message }: LeftOut): string {
  return `${benchmark}: ${message}`
}
