/** Looking for secrets in texts: keys and passwords that nobody should find there. */

/** A text to look through. */
export interface ScannedText {
  /** What its findings are told apart by. */
  readonly id: string
  /** One character a byte is enough: secrets are made of ASCII. */
  readonly text: string
}

/** A secret, as it seems. */
export interface FoundSecret {
  readonly id: string
  /** What it looks like: `github`, `aws-key-id`. */
  readonly rule: string
  /** In its text, the first is 1. */
  readonly line: number
  /** The secret itself. */
  readonly secret: string
}

/** Looks for secrets, beside the program's own thread. */
export interface SecretScanner {
  /** All that is found, in the order of the texts. @throws SecretScanFailed */
  readonly scan: (texts: readonly ScannedText[]) => Promise<readonly FoundSecret[]>
  /** Ends the thread; the next scan begins another. */
  readonly close: () => Promise<void>
}

/** A text could not be looked through: nobody knows whether it holds a secret. */
export class SecretScanFailed extends Error {
  override readonly name = "SecretScanFailed"
}
