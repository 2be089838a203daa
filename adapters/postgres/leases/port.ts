/** The processes of an installation. Claims and jobs of a dead process may be taken over. */
export interface Processes {
  /** This process's id, new at each start. */
  readonly ownId: string
  /** Whether a process still runs. One that lost its database connection counts as dead. */
  readonly isAlive: (processId: string) => Promise<boolean>
}

/**
 * Leases: tasks that one process of an installation does at a time, such as keeping one read model
 * up to date. A lease is free as soon as its process ends, and goes to the first requester.
 */
export interface Leases {
  /**
   * Requests leases until they are released. `onChange` is called for each lease that this process gets, and for
   * each that is lost with the connection that held it: another process may have it. Resolves after the first try.
   */
  readonly request: (
    names: readonly string[],
    onChange: (name: string, isHeld: boolean) => void,
  ) => Promise<LeaseRequest>
}

export interface LeaseRequest {
  /**
   * Releases the held leases and stops requesting. Never throws: a lease that cannot be released
   * ends with its process.
   */
  readonly release: () => Promise<void>
}

/** Notifications between the processes of an installation. */
export interface ProcessNotifications {
  /**
   * Listens for a name. `onNotification` gets the text of each notification, and null if some may
   * have been missed because the connection was lost.
   *
   * @throws the driver's error
   */
  readonly listen: (name: string, onNotification: (text: string | null) => void) => Promise<void>
  /** Other processes that may be running, including those that just lost their connection. */
  readonly listOtherProcesses: () => Promise<readonly string[]>
  /** Notifies all listeners of a name, including this process. */
  readonly notify: (name: string, text: string) => Promise<void>
}
