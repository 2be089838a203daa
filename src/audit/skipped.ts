/** What an audit did not look at, or not in full, so that nobody takes it for proven. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Rule } from "./findings.ts"

/** Something that was not looked at. */
export interface Skipped {
  readonly what: string
  /** How many there are; null where nobody counted. */
  readonly count: number | null
  readonly why: string
}

/** How much of the streams was looked at. */
export interface StreamCounts {
  /** Streams whose chain is broken among all. */
  broken: number
  /** Facts of an earlier form of their type. */
  formerForms: number
  /** Streams of a tree of which a head was signed, and the others. */
  withHead: number
  withoutHead: number
  /** Streams of which a checkpoint is kept, and those that have none yet. */
  withCheckpoint: number
  withoutCheckpoint: number
}

/** What of the streams was not looked at. @param companyId null where all were asked for */
export function skippedIn(counts: StreamCounts, companyId: CompanyId | null): readonly Skipped[] {
  const all = [
    {
      of: "stream",
      what: "read alone",
      count: counts.broken,
      why: "their chain is broken among all",
    },
    {
      of: "fact",
      what: "written again",
      count: counts.formerForms,
      why: "they are of an earlier form, and only read",
    },
    {
      of: "stream",
      what: "held against a signed head",
      count: counts.withoutHead,
      why: "none was signed yet: audit head signs them",
    },
    {
      of: "stream",
      what: "compared with a checkpoint",
      count: counts.withoutCheckpoint,
      why: "none is kept of them",
    },
  ]
  const others = {
    what: "streams of other companies and of the installation",
    count: null,
    why: "one company was asked for",
  }
  const found = all.filter(({ count: many }) => many !== 0)
  return [
    ...found.map(({ of, what, count: many, why }) => {
      return { what: `${of}${many === 1 ? "" : "s"} ${what}`, count: many, why }
    }),
    ...(companyId === null ? [] : [others]),
  ]
}

/** What was looked at by rules that do not look at every event, where they hold. */
export function lookedAt({
  withHead,
  withCheckpoint,
}: Pick<StreamCounts, "withHead" | "withCheckpoint">): Readonly<Partial<Record<Rule, string>>> {
  const withOne = (what: string, none: string, count: number) =>
    count === 0 ? none : `${count} ${count === 1 ? "stream" : "streams"} with a ${what}`
  return {
    "signed heads are of this history": withOne("signed head", "no head is signed yet", withHead),
    "checkpoints are what folding gives": withOne(
      "checkpoint",
      "no checkpoint is kept yet",
      withCheckpoint,
    ),
  }
}

/** What never is: the rows of work come from facts and go once they are done. */
export const WORK_ROWS: Skipped = {
  what: "rows of work",
  count: null,
  why: "they go once they are done, so there is no rebuild to compare them with",
}

/** The same in lines for people. */
export function skippedText(skipped: readonly Skipped[]): string {
  const lines = skipped.map(({ what, count, why }) => {
    return `  ${count === null ? "" : `${count} `}${what}: ${why}\n`
  })
  return lines.length === 0 ? "" : `Not looked at:\n${lines.join("")}`
}
