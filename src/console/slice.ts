/** The console: the page on which a company's people do what the API has no route for, and look at the rest. */
import type { Slice } from "../frame/slice.ts"
import { asset, shells } from "./files.ts"
import { consoleLink } from "./operate/link.ts"
import { doOperation, listOperations, sendFileTo, beat } from "./operations.ts"
import { askCode, followLink, readSession, signIn, signOut, bySession } from "./sign-in.ts"

/** What is served to browsers, and who is signed in there. */
export const consoleSlice: Slice = {
  name: "console",
  pages: [
    askCode,
    signIn,
    readSession,
    signOut,
    followLink,
    listOperations,
    doOperation,
    sendFileTo,
    beat,
    asset,
    ...shells,
  ],
  waysIn: [bySession],
  operations: [consoleLink],
  topics: { console: "the console" },
}
