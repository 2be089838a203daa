/** What an audit did not look at, or not in full, so that nobody takes it for proven. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Rule } from "./findings.ts"
import type { Seen } from "./seen-streams.ts"

/** Something that was not looked at. */
export interface Skipped {
  readonly what: string
  /** How many there are; null where nobody counted. */
  readonly count: number | null
  readonly why: string
}

/** What of the streams was not looked at. @param companyId null where all were asked for */
export function skippedIn(seen: readonly Seen[], companyId: CompanyId | null): readonly Skipped[] {
  const count = (isSkipped: (one: Seen) => boolean) => seen.filter(isSkipped).length
  const former = seen.reduce((sum, { formerForms }) => sum + formerForms, 0)
  const all = [
    {
      ...{ of: "stream", what: "read alone" },
      count: count(({ isBroken }) => isBroken),
      why: "their chain is broken among all",
    },
    {
      ...{ of: "fact", what: "written again" },
      count: former,
      why: "they are of an earlier form, and only read",
    },
    {
      ...{ of: "stream", what: "held against a signed head" },
      count: count(({ held }) => held === null),
      why: "none was signed yet: audit head signs them",
    },
    {
      ...{ of: "stream", what: "compared with a checkpoint" },
      count: count(({ folded, checkpoint }) => folded !== null && checkpoint === null),
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
export function lookedAt(seen: readonly Seen[]): Readonly<Partial<Record<Rule, string>>> {
  const withOne = (what: string, none: string, isWith: (one: Seen) => boolean) => {
    const count = seen.filter(isWith).length
    return count === 0 ? none : `${count} ${count === 1 ? "stream" : "streams"} with a ${what}`
  }
  return {
    "signed heads are of this history": withOne(
      ...(["signed head", "no head is signed yet"] as const),
      ({ held }) => held !== null,
    ),
    "checkpoints are what folding gives": withOne(
      ...(["checkpoint", "no checkpoint is kept yet"] as const),
      ({ checkpoint }) => checkpoint !== null,
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
