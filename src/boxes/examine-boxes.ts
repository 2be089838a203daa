/** What `doctor` finds of this machine's boxes. */
import type { Finding } from "../frame/operator/cli/finding.ts"
import { well } from "../frame/operator/cli/finding.ts"
import type { ReadSettings } from "../frame/settings.ts"
import { boxSettings } from "./settings.ts"

/** Something about the boxes of a machine. */
interface Found {
  readonly part: string
  readonly isWell: boolean
  readonly says: string
  readonly fix: string | null
}

/** A machine that boxes run on, for those who look after it. */
export interface BoxMachine {
  /** Makes a box for a moment, and says what works. */
  readonly probe: () => Promise<readonly Found[]>
  /** Takes away what crashes left; the names of what was taken. */
  readonly sweep: () => Promise<readonly unknown[]>
}
