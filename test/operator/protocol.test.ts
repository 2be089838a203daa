/** What the client of the admin socket takes for an answer, and what it does not. */
import { describe, expect, it } from "vitest"
import { AdminProtocolFault, readIdentity, readLine } from "../../src/frame/operator/protocol.ts"

const setting = { name: "PORT", value: "3000", source: "default" }

describe("a line of an answer", () => {
  it.each([
    { progress: "half way" },
    { chunk: "" },
    { bytes: "" },
    { bytes: "YQ==" },
    { bytes: "YWJj" },
    { error: { error: "conflict", message: "Not now.", limit: null } },
    { result: null },
    { result: { ok: true }, text: "Done.\n" },
  ])("is taken as it stands: %j", (line) => {
    expect(readLine(JSON.stringify(line))).toEqual(line)
  })

  it.each([
    "",
    "nothing",
    "null",
    "7",
    "[]",
    "{}",
    '"progress"',
    '{"progress":7}',
    '{"chunk":null}',
    '{"bytes":"YQ"}',
    '{"bytes":"Y Q="}',
    '{"bytes":7}',
    '{"text":"alone"}',
    '{"result":1,"text":7}',
    '{"result":1,"more":2}',
    '{"error":"conflict"}',
    '{"error":{"error":"conflict"}}',
    '{"error":{"message":"why"}}',
    '{"progress":"a","chunk":"b"}',
    '{"error":{"error":"a","message":"b"},"result":1}',
  ])("is refused: %s", (text) => {
    expect(() => readLine(text)).toThrow(AdminProtocolFault)
  })
})

describe("who a server says it is", () => {
  it("is taken with the settings, of which an earlier release says nothing", () => {
    const bare = { folderId: "f", pid: 7 }
    expect(readIdentity(JSON.stringify(bare))).toEqual({ ...bare, settings: [] })
    const told = { ...bare, settings: [setting, { ...setting, source: "environment" }] }
    expect(readIdentity(JSON.stringify({ ...told, more: 1 }))).toEqual(told)
  })

  it.each([
    "",
    "null",
    "[]",
    "{}",
    '{"folderId":"f"}',
    '{"pid":7}',
    '{"folderId":7,"pid":7}',
    '{"folderId":"f","pid":0}',
    '{"folderId":"f","pid":1.5}',
    '{"folderId":"f","pid":"7"}',
    JSON.stringify({ folderId: "f", pid: 7, settings: setting }),
    JSON.stringify({ folderId: "f", pid: 7, settings: [{ ...setting, value: 3_000 }] }),
    JSON.stringify({ folderId: "f", pid: 7, settings: [{ ...setting, source: "file" }] }),
    JSON.stringify({ folderId: "f", pid: 7, settings: [null] }),
  ])("is refused: %s", (text) => {
    expect(() => readIdentity(text)).toThrow(AdminProtocolFault)
  })
})
