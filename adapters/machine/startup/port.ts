/**
 * A reason why the program cannot start that its operator can mend. The message is one plain
 * sentence that says what is wrong and what to do; it is printed alone, so it carries no stack.
 */
export class StartupFault extends Error {
  /** `sentence` is the whole message; `cause` keeps the fault that was seen, for a debugger. */
  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? undefined : { cause })
    this.name = "StartupFault"
    delete this.stack
  }
}
