import type { Checkpoint, Checkpoints } from "./port.ts"

/** Checkpoints in this process's memory, as text, so that nothing is shared with a live state. */
export function openMemoryCheckpoints(): Checkpoints {
  const kept = new Map<string, string>()
  return {
    load: async (stream) => {
      const text = kept.get(stream)
      return text === undefined ? null : (JSON.parse(text) as Checkpoint)
    },
    save: async (stream, checkpoint) => {
      const former = kept.get(stream)
      const { revision, shape } =
        former === undefined ? checkpoint : (JSON.parse(former) as Checkpoint)
      if (revision > checkpoint.revision && shape === checkpoint.shape) return
      kept.set(stream, JSON.stringify(checkpoint))
    },
  }
}
