/** What a link shows where nothing can be shown by it. */
import type { Notice } from "../frame/http/passing/pass.ts"

const PAGES = {
  404: ["There is nothing here", "This link is closed, or was never one."],
  502: ["Nothing answers yet", "The box does not listen on this port now. This page tries again."],
  503: ["Too many look at this now", "The box is busy with others. This page tries again."],
} as const

/** Why nothing is shown: the name is nobody's, nothing listens now, or too many look at it. */
export type None = keyof typeof PAGES

/** The page that says so; of what may come yet, one that looks again. */
export function noticeOf(status: None): Notice {
  const [title, text] = PAGES[status]
  return { status, title, text, looksAgain: status !== 404 }
}
