/** Scans texts for secrets: keys and passwords that must not be published. */

/** A text to scan. */
export interface ScannedText {
  /** Identifies the text in the results. */
  readonly id: string
  /** One character per byte is enough: secrets are ASCII. */
  readonly text: string
}

export interface FoundSecret {
  readonly id: string
  /** The kind of secret: `github`, `aws-key-id`. */
  readonly rule: string
  /** Line in the text, from 1. */
  readonly line: number
  /** The secret itself. */
  readonly secret: string
}

/** Scans for secrets outside the main thread. */
export interface SecretScanner {
  /** All findings, in the order of the texts. @throws SecretScanFailed */
  readonly scan: (texts: readonly ScannedText[]) => Promise<readonly FoundSecret[]>
  /** Ends the thread; the next scan starts a new one. */
  readonly close: () => Promise<void>
}

/** The scan failed: the text may contain secrets. */
export class SecretScanFailed extends Error {
  override readonly name = "SecretScanFailed"
}
