/** What visitors of a preview are shown where there is nothing else to show. */
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { NoticePage } from "../../frame/http/proxy/proxy.ts"

/** No company can have such an address. */
export const NO_SUCH_PREVIEW: NoticePage = {
  status: 404,
  title: "There is nothing here",
  text: "No preview can have this address.",
}

/** The company has published nothing, or is deleted. */
export const NOTHING_LIVE: NoticePage = {
  status: 404,
  title: "Nothing is published yet",
  text: "This is where the preview of your company will be, once one of its commits is published.",
}

/** The site has no such file. */
export const NO_SUCH_PAGE: NoticePage = {
  status: 404,
  title: "There is no such page",
  text: "What is published has nothing at this address.",
}

/** The path is encoded as none is. */
export const MALFORMED_ADDRESS: NoticePage = {
  status: 400,
  title: "This address is none",
  text: "It is not encoded as addresses are.",
}

/** The house cannot serve it. */
export const TEMPORARILY_UNAVAILABLE: NoticePage = {
  status: 503,
  title: "Not now",
  hasAutoRefresh: true,
  text: "The preview cannot be shown at this moment. This page tries again.",
}

/** It is being started. */
export const APP_STARTING: NoticePage = {
  status: 503,
  title: "Starting",
  hasAutoRefresh: true,
  text: "The preview was asleep and is being started. This page tries again.",
}

/** More wait, or look, than may. */
export const TOO_MANY_VISITORS: NoticePage = {
  status: 503,
  title: "Too many look at this now",
  hasAutoRefresh: true,
  text: "The preview is busy with others. This page tries again.",
}

/** It runs, and says nothing that can be passed on. */
export const APP_NOT_RESPONDING: NoticePage = {
  status: 502,
  title: "Nothing answers",
  hasAutoRefresh: true,
  text: "The preview runs, but does not answer at its PORT. This page tries again.",
}

/** It does not run, and will not by itself. */
export function appDownNotice(publishId: PublishId): NoticePage {
  return {
    status: 502,
    title: "The preview does not run",
    text:
      "Its program ended too often, or does not start. What it wrote is in its log, which an operator " +
      `shows by: publish log ${publishId}`,
  }
}
