/** What the auditors' operations answer, as far as pages show it. */
export interface StreamList {
  readonly streams: readonly StreamRow[]
  readonly next: string | null
}

/** A stream, and where it ends. */
export interface StreamRow {
  readonly stream: string
  readonly events: number
  readonly lastRevision: number
  readonly lastAt: string
}

/** Events of a stream, the first one first. */
export interface EventList {
  readonly events: readonly StoredEvent[]
  readonly next: number | null
}

/** An event as it is stored. */
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

/** The newest signed head of the company's tree. */
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

/** What an audit found. */
export interface AuditReport {
  readonly ok: boolean
  readonly checks: readonly {
    readonly name: string
    readonly ok: boolean
    readonly detail: string
  }[]
  readonly firstBroken: {
    readonly check: string
    /** Empty where it is of the whole history. */
    readonly stream: string
    readonly revision: number
    readonly expected: string
    readonly found: string
  } | null
  readonly streams: number
  readonly events: number
  readonly skipped: readonly {
    readonly what: string
    readonly count: number | null
    readonly why: string
  }[]
}
