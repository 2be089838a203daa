/** File names with a content hash, which browsers may cache forever. */
import { describe, expect, it } from "vitest"
import { isContentHashed } from "../../../src/publishing/host-route/find-file.ts"

describe("the file name", () => {
  it.for([
    "a-3f2a9c1b.js",
    "assets/index-DiwrgT4a.css",
    "main.0a1b2c3d4e5f6071.png",
    "x.B1xk9Q_z.mjs",
  ])("%s has a content hash", (name) => expect(isContentHashed(name)).toBe(true))
  it.for([
    "index.html",
    "my-document.html",
    "hello-javascript.js",
    "report-20261124.pdf",
    "deadbeef.js",
    "photo-Final2024.jpg",
    "a-3f2a9c1b.html",
    "some-fadedface.css",
    "jquery-3.7.1.min.js",
    "3f2a9c1b.js",
  ])("%s has no content hash", (name) => expect(isContentHashed(name)).toBe(false))
})
