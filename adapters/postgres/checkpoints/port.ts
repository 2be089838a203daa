/** A state as it was after one event of its stream, kept so that loading need not fold it all. */
export interface Checkpoint {
  /** The revision of the last event folded. */
  readonly revision: number
  /** That event's hash: a checkpoint of another history is not believed. */
  readonly hash: string
  /** The version of the saved shape. */
  readonly format: number
  readonly state: unknown
}

/** A checkpoint as it is kept, whether or not it can be read. */
export interface StoredCheckpoint extends Omit<Checkpoint, "state"> {
  /** What was saved: JSON, where nobody broke it. */
  readonly text: string
}

/** Keeps the newest checkpoint of each stream. A cache: losing it all changes nothing but time. */
export interface Checkpoints {
  /** The stream's checkpoint; null where there is none, or it cannot be had just now or be read. */
  readonly load: (stream: string) => Promise<Checkpoint | null>
  /** Keeps it, unless one of the same shape and a later revision is kept already. */
  readonly save: (stream: string, checkpoint: Checkpoint) => Promise<void>
}

/** Checkpoints that an audit looks at as they are kept. */
export interface AuditedCheckpoints extends Checkpoints {
  /** What is kept of a stream; null where nothing is, or it cannot be had just now. */
  readonly loadStored: (stream: string) => Promise<StoredCheckpoint | null>
}
