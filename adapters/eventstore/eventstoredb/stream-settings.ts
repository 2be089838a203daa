/** The settings of a stream that hide events of it: anybody who may write to the stream may set them. */

/** Their names: so many of the newest events, those of so many seconds, those from a revision on. */
export const HIDING = ["$maxCount", "$maxAge", "$tb"] as const

const HIDES = /"(\$tb|\$maxAge|\$maxCount)"/

/** The stream that holds the settings of another one, the newest in its last event. */
export function settingsStream(stream: string): string {
  return `$$${stream}`
}

/** The first setting that hides events in the data of a settings event; null where none does. */
export function hidingSetting(data: string): string | null {
  return HIDES.exec(data)?.[1] ?? null
}
