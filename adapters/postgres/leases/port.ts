/** The processes of an installation: who is alive decides whose claims and work may be taken. */
export interface Processes {
  /** This process's id, new at each start. */
  readonly ownId: string
  /** Whether a process still runs. One that lost its database connection counts as dead. */
  readonly isAlive: (processId: string) => Promise<boolean>
}

/**
 * Leases: what one process of an installation does at a time, such as keeping one read model up. A
 * lease is free again as soon as its process ends, however it ends, and goes to whoever asks first.
 */
export interface Leases {
  /**
   * Asks for leases until they are given up. `onChange` is told of each that comes to this process,
   * and of each that is lost with the connection that held it: another process may have it by then.
   * Resolves after the first try.
   */
  readonly request: (
    names: readonly string[],
    onChange: (name: string, isHeld: boolean) => void,
  ) => Promise<LeaseRequest>
}

/** Leases that were asked for. */
export interface LeaseRequest {
  /** Lets go what is held and asks no more. Never throws: what cannot be let go ends with its process. */
  readonly release: () => Promise<void>
}

/** What the processes of an installation call out to one another. */
export interface ProcessNotifications {
  /**
   * Listens for a name. `onCall` is told what was called out with it, and null where something may
   * have been missed, because the connection was lost for a while.
   *
   * @throws the driver's error where the database cannot be told
   */
  readonly listen: (name: string, onCall: (text: string | null) => void) => Promise<void>
  /** All other processes that may run now, also where their connection was just lost. */
  readonly listOtherProcesses: () => Promise<readonly string[]>
  /** Calls something out to all who listen for the name, this process too. */
  readonly notify: (name: string, text: string) => Promise<void>
}
