/** What a run did not measure, and why. */

/**
 * Why: the store cannot have it measured, a point lies beyond `--most`, something that it is measured
 * against is not there (a peer that is not installed), it broke or was not honest, or it was interrupted.
 */
export type SkipReason = "store" | "most" | "absent" | "fault" | "interrupted"

/** Something that was not measured. */
export interface SkippedMeasurement {
  readonly benchmark: string
  readonly reason: SkipReason
  readonly message: string
}

/** In a line. */
export function skippedLine({ benchmark, message }: SkippedMeasurement): string {
  return `${benchmark}: ${message}`
}
