/** Measurements that a run skipped, with the reasons. */

/**
 * The reason: the store does not support it, a point is larger than `--most`, a program to compare with is not
 * installed, it failed or was dishonest, or it was interrupted.
 */
export type SkipReason = "store" | "most" | "absent" | "fault" | "interrupted"

export interface SkippedMeasurement {
  readonly benchmark: string
  readonly reason: SkipReason
  readonly message: string
}

/** Describes it in one line. */
export function skippedLine({ benchmark, message }: SkippedMeasurement): string {
  return `${benchmark}: ${message}`
}
