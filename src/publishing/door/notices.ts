/** What visitors of a preview are shown where there is nothing else to show. */
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Notice } from "../../frame/http/passing/pass.ts"

/** No company can have such an address. */
export const NO_SUCH_PLACE: Notice = {
  status: 404,
  title: "There is nothing here",
  text: "No preview can have this address.",
}

/** The company has published nothing, or is deleted. */
export const NOTHING_LIVE: Notice = {
  status: 404,
  title: "Nothing is published yet",
  text: "This is where the preview of your company will be, once one of its commits is published.",
}

/** The site has no such file. */
export const NO_SUCH_PAGE: Notice = {
  status: 404,
  title: "There is no such page",
  text: "What is published has nothing at this address.",
}

/** The path is encoded as none is. */
export const WRONG_ADDRESS: Notice = {
  status: 400,
  title: "This address is none",
  text: "It is not encoded as addresses are.",
}

/** The house cannot serve it. */
export const NOT_NOW: Notice = {
  status: 503,
  title: "Not now",
  looksAgain: true,
  text: "The preview cannot be shown at this moment. This page tries again.",
}

/** It is being started. */
export const STARTING: Notice = {
  status: 503,
  title: "Starting",
  looksAgain: true,
  text: "The preview was asleep and is being started. This page tries again.",
}

/** More wait, or look, than may. */
export const TOO_MANY: Notice = {
  status: 503,
  title: "Too many look at this now",
  looksAgain: true,
  text: "The preview is busy with others. This page tries again.",
}

/** It runs, and says nothing that can be passed on. */
export const NO_ANSWER: Notice = {
  status: 502,
  title: "Nothing answers",
  looksAgain: true,
  text: "The preview runs, but does not answer at its PORT. This page tries again.",
}

/** It does not run, and will not by itself. */
export function appIsDown(publishId: PublishId): Notice {
  return {
    status: 502,
    title: "The preview does not run",
    text:
      "Its program ended too often, or does not start. What it wrote is in its log, which an operator " +
      `shows by: publish log ${publishId}`,
  }
}
