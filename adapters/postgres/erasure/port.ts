/**
 * Erases a company's personal data outside the events. Events stay; their sealed text is unreadable
 * once the company's key is destroyed.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { StuckJob } from "../jobs/port.ts"

/** Erases a company. Each step can be repeated after a crash. */
export interface Erasure {
  /** Destroys the company's key and the keys it wraps; a new one is never created for it. */
  readonly destroyKeys: (companyId: CompanyId) => Promise<void>
  /** Destroys the key of one subject of a company; a new one is never created for it. */
  readonly destroySubjectKey: (companyId: CompanyId, subject: string) => Promise<void>
  /** Unfinished jobs of the kinds that end with their company. */
  readonly listOpenJobs: (companyId: CompanyId) => Promise<readonly StuckJob[]>
  /** Deletes the company's rows that do not derive from events, except those about money. */
  readonly deleteRows: (companyId: CompanyId) => Promise<void>
  /**
   * Removes deleted and overwritten data from the database's files, including those of the read
   * models. False if a transaction can still see the old data: retry later.
   */
  readonly wipeFiles: () => Promise<boolean>
}
