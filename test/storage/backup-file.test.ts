import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import type { BackupBlock } from "../../src/storage/backup-file.ts"
import { BackupFault, BackupWriter, readBackup } from "../../src/storage/backup-file.ts"

const BLOCKS: readonly BackupBlock[] = [
  { kind: "claims", count: 1, json: '[{"answer":"a b\\nc — ü"}]' },
  { kind: "events", count: 2, json: '[["s",0,"i","T","{}","{}"],["s",1,"j","T","{}","{}"]]' },
  { kind: "events", count: 1, json: '[["s",2,"k","T","{}","{}"]]' },
]

async function written(blocks = BLOCKS): Promise<{ readonly text: string; readonly end: string }> {
  let text = ""
  const writer = new BackupWriter(async (piece) => void (text += piece))
  await writer.begin({ migrations: ["0001-first"], generation: 0 })
  for (const block of blocks) await writer.block(block)
  const end = await writer.end({ work: 2 })
  expect(writer.bytes).toBe(Buffer.byteLength(text))
  return { text, end }
}

async function read(text: string | Buffer) {
  const folder = await mkdtemp(join(tmpdir(), "ledger-backup-"))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, "file")
  await writeFile(path, text)
  const blocks = readBackup(path)
  const found: BackupBlock[] = []
  for (;;) {
    const next = await blocks.next()
    if (next.done === true) return { blocks: found, summary: next.value }
    found.push(next.value)
  }
}

it("reads back the written blocks, and the last line's checksum covers the whole file", async () => {
  const { text, end } = await written()
  const { blocks, summary } = await read(text)
  expect(blocks).toEqual(BLOCKS)
  expect(summary).toEqual({
    head: { migrations: ["0001-first"], generation: 0 },
    end: { counts: { claims: 1, events: 3 }, handledEvents: { work: 2 } },
    checksum: end,
  })
  expect(text.startsWith("company-ledger backup 1\n")).toBe(true)
})

it("reads lines that are longer than a chunk of the file", async () => {
  const long = { kind: "events", count: 1, json: `["${"x".repeat(300_000)}"]` }
  const { text } = await written([long, ...BLOCKS])
  expect((await read(text)).blocks).toEqual([long, ...BLOCKS])
})

it("rejects a file with any one byte changed, and names the line", async () => {
  const { text } = await written()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] as number) ^ 1
    await expect(read(changed), `byte ${at}`).rejects.toThrow(BackupFault)
  }
  const offset = text.indexOf('"k"')
  const line = text.slice(0, offset).split("\n").length
  const changed = `${text.slice(0, offset)}"l"${text.slice(offset + 3)}`
  await expect(read(changed)).rejects.toThrow(
    new RegExp(`^line ${line} \\(byte \\d+\\) was changed`),
  )
})

it("rejects a file that is truncated anywhere", async () => {
  const { text } = await written()
  const bytes = Buffer.from(text)
  for (let length = 0; length < bytes.length; length += 7) {
    await expect(read(bytes.subarray(0, length)), `${length} bytes`).rejects.toThrow(BackupFault)
  }
  const lines = text.split("\n")
  const withoutEnd = `${lines.slice(0, -2).join("\n")}\n`
  await expect(read(withoutEnd)).rejects.toThrow(/truncated: its last line is missing/)
  await expect(read(text.slice(0, -1))).rejects.toThrow(/truncated in line 6/)
})

it("rejects a missing line, a repeated line and a line after the end", async () => {
  const { text } = await written()
  const lines = text.trimEnd().split("\n")
  const without = lines.toSpliced(3, 1)
  await expect(read(`${without.join("\n")}\n`)).rejects.toThrow(/^line 4 \(byte \d+\) was changed/)
  const twice = lines.toSpliced(3, 0, lines[3] as string)
  await expect(read(`${twice.join("\n")}\n`)).rejects.toThrow(/^line 5 \(byte \d+\) was changed/)
  await expect(read(`${text}more\n`)).rejects.toThrow(/the file has data after its end, at line 7/)
})

it("rejects other formats and other files, with the fix", async () => {
  const { text } = await written()
  await expect(read(text.replace("backup 1", "backup 2"))).rejects.toThrow(
    /newer version .* \(format 2\); use that version/,
  )
  await expect(read("id,amount\n1,2\n")).rejects.toThrow(
    /the file is not a backup of company-ledger/,
  )
  await expect(read("")).rejects.toThrow(/truncated/)
})
