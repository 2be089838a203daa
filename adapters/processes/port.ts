/** The processes of an installation: who is alive decides whose claims and work may be taken. */
export interface Processes {
  /** This process's id, new at each start. */
  readonly own: string
  /** Whether a process still runs. One that lost its database connection counts as dead. */
  readonly isAlive: (processId: string) => Promise<boolean>
}
