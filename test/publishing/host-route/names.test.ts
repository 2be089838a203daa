/** Names of files by which browsers may keep them for ever. */
import { describe, expect, it } from "vitest"
import { isContentHashed } from "../../../src/publishing/host-route/find-file.ts"

describe("a name", () => {
  it.for([
    "a-3f2a9c1b.js",
    "assets/index-DiwrgT4a.css",
    "main.0a1b2c3d4e5f6071.png",
    "x.B1xk9Q_z.mjs",
  ])("%s holds a hash", (name) => expect(isContentHashed(name)).toBe(true))
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
  ])("%s holds none", (name) => expect(isContentHashed(name)).toBe(false))
})
