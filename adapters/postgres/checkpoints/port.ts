/** The state after one event of its stream, saved so that loading folds only later events. */
export interface Checkpoint {
  readonly revision: number
  /** That event's hash: a checkpoint of another history is ignored. */
  readonly hash: string
  readonly format: number
  readonly state: unknown
}

/** A checkpoint as stored, even if its state cannot be parsed. */
export interface StoredCheckpoint extends Omit<Checkpoint, "state"> {
  /** The stored state: JSON, unless it is corrupt. */
  readonly text: string
}

/** Stores the newest checkpoint of each stream. It is a cache: without it, loading only takes longer. */
export interface Checkpoints {
  /** The stream's checkpoint; null if there is none, or it is unavailable or unreadable. */
  readonly load: (stream: string) => Promise<Checkpoint | null>
  /** Saves a checkpoint, unless a later one of the same format exists. */
  readonly save: (stream: string, checkpoint: Checkpoint) => Promise<void>
}

/** Checkpoints with access to the stored text, for audits. */
export interface AuditedCheckpoints extends Checkpoints {
  readonly loadStored: (stream: string) => Promise<StoredCheckpoint | null>
}
