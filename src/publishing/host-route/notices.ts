/** Notice pages of previews. */
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { NoticePage } from "../../frame/http/proxy/proxy.ts"

/** No company can have this address. */
export const NO_SUCH_PREVIEW: NoticePage = {
  status: 404,
  title: "Preview not found",
  text: "This address does not belong to a preview. Check the link.",
}

/** The company has no live publish, or is deleted. */
export const NOTHING_LIVE: NoticePage = {
  status: 404,
  title: "Nothing is published yet",
  text: "Your company's preview appears here after its first publish.",
}

/** The site has no file for the path. */
export const NO_SUCH_PAGE: NoticePage = {
  status: 404,
  title: "Page not found",
  text: "The published site has no page at this address.",
}

/** The path is not validly encoded. */
export const MALFORMED_ADDRESS: NoticePage = {
  status: 400,
  title: "Invalid address",
  text: "The address is not encoded correctly.",
}

/** The service cannot show the preview now. */
export const TEMPORARILY_UNAVAILABLE: NoticePage = {
  status: 503,
  title: "Preview unavailable",
  hasAutoRefresh: true,
  text: "The preview cannot be shown right now. This page tries again.",
}

export const APP_STARTING: NoticePage = {
  status: 503,
  title: "Starting",
  hasAutoRefresh: true,
  text: "The preview was asleep and is starting. This page tries again.",
}

/** The version has its maximum of visitors or waiting requests. */
export const TOO_MANY_VISITORS: NoticePage = {
  status: 503,
  title: "Too many visitors",
  hasAutoRefresh: true,
  text: "The preview has its maximum of visitors. This page tries again.",
}

/** The app runs, but does not answer. */
export const APP_NOT_RESPONDING: NoticePage = {
  status: 502,
  title: "No answer",
  hasAutoRefresh: true,
  text: "The preview runs, but does not answer on its PORT. This page tries again.",
}

/** The app does not run, and is not restarted. */
export function appDownNotice(publishId: PublishId): NoticePage {
  return {
    status: 502,
    title: "The preview is down",
    text:
      "Its program exited too often, or does not start. An operator can read its log: " +
      `publish log ${publishId}`,
  }
}
