/**
 * Erasing what is personal of a company, outside of the events: those stay, and what is sealed in them
 * can never be read again once the company's key is destroyed.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { StuckJob } from "../jobs/port.ts"

/** Erases a company. Each step may be done again, after a crash at any place. */
export interface Erasure {
  /** Destroys the company's key and those it wraps; none is ever made for it again. */
  readonly destroyKeys: (companyId: CompanyId) => Promise<void>
  /** Destroys the key of one subject of a company; none is ever made for it again. */
  readonly destroySubjectKey: (companyId: CompanyId, subject: string) => Promise<void>
  /** Work that ends with its company and has no end yet. */
  readonly listOpenJobs: (companyId: CompanyId) => Promise<readonly StuckJob[]>
  /** Deletes the rows of the company that are no fold of events and hold anything but money. */
  readonly deleteRows: (companyId: CompanyId) => Promise<void>
  /**
   * Takes what was deleted or overwritten out of the database's files, those of the read models
   * included. False where somebody still looks at what was before, or may yet: to be done again later.
   */
  readonly wipeFiles: () => Promise<boolean>
}
