/** Answers of the audit operations, with the fields that pages show. */
export interface StreamList {
  readonly streams: readonly StreamRow[]
  readonly next: string | null
}

export interface StreamRow {
  readonly stream: string
  readonly events: number
  readonly lastRevision: number
  readonly lastAt: string
}

/** Events of a stream, oldest first. */
export interface EventList {
  readonly events: readonly StoredEvent[]
  readonly next: number | null
}

export interface StoredEvent {
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly at: string
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: {
    readonly id: string
    readonly hash: string
    readonly command: string
    readonly version: number
    readonly actor?: string
    readonly person?: string
    readonly key?: string
    readonly reason?: string
  }
}

/** The newest signed tree head of the company. */
export interface HeadList {
  readonly publicKey: string
  readonly heads: readonly {
    readonly tree: string
    readonly size: number
    readonly root: string
    readonly position: string
    readonly at: string
    readonly signature: string
  }[]
}

export interface AuditReport {
  readonly ok: boolean
  readonly checks: readonly {
    readonly name: string
    readonly ok: boolean
    readonly detail: string
  }[]
  readonly firstBroken: {
    readonly check: string
    /** Empty if it concerns the whole history. */
    readonly stream: string
    readonly revision: number
    readonly expected: string
    readonly found: string
  } | null
  readonly streams: number
  readonly events: number
  readonly skipped: readonly {
    readonly check: string
    readonly count: number | null
    readonly reason: string
  }[]
}
