import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import {
  matchSecretPatterns,
  WINDOW_OVERLAP,
  WINDOW_LENGTH,
  secretsFromMatches,
  splitIntoWindows,
} from "../../adapters/git/secret-scan/windows.ts"
import { SecretScanFailed } from "../../adapters/git/secret-scan/port.ts"
import { openSecretScanner } from "../../adapters/git/secret-scan/scanner.ts"
import { SAMPLE_SECRETS } from "./fake-pushes.ts"

const scan = openSecretScanner({ pacer: machinePacer })
afterAll(() => scan.close())

const found = async (text: string) => scan.scan([{ id: "x", text }])

describe("a secret", () => {
  it.each(Object.entries(SAMPLE_SECRETS))(
    "of rule %s is found with its line",
    async (rule, secret) => {
      const [one, ...others] = await found(`first line\nconst it = "${secret}"\nlast line\n`)
      expect(one).toMatchObject({ id: "x", rule, line: 2 })
      expect(one?.secret).toContain(secret.slice(0, 40))
      expect(others).toEqual([])
    },
  )

  it("is found despite a comment that disables the rules", async () => {
    const github = SAMPLE_SECRETS["github"]
    const texts = [
      `/* secretlint-disable */\n${github}`,
      `// secretlint-disable-next-line\n${github}`,
      `${github} // secretlint-disable-line`,
      `/* SecretLint-Disable @secretlint/secretlint-rule-github */ ${github}`,
    ]
    for (const text of texts) expect(await found(text), text).toHaveLength(1)
    // A comment in one text does not disable the rules for the next text.
    const separateTexts = texts.map((text, i) => ({ id: String(i), text }))
    expect((await scan.scan(separateTexts)).map(({ id }) => id)).toEqual(["0", "1", "2", "3"])
  })

  it.each(["# ", "> ", " * ", "// ", "    -- ", "+", "\t| "])(
    "key whose lines begin with %j is found whole, at its first line",
    async (prefix) => {
      const key = SAMPLE_SECRETS["private-key"] as string
      const commented = `x\n${key}`.replaceAll("\n", `\n${prefix}`)
      const [one, ...others] = await found(commented)
      expect(one).toMatchObject({ rule: "private-key", line: 2 })
      expect(one?.secret).toContain(key.split("\n")[1])
      expect(others).toEqual([])
    },
  )

  it("is found next to bytes that are not text", async () => {
    expect(await found(`\0\x01\x02${SAMPLE_SECRETS["openai"]}\0\xff`)).toHaveLength(1)
  })

  it("that crosses a window boundary is found once, on its line", async () => {
    const secret = SAMPLE_SECRETS["telnyx"] as string
    const line = `${"x".repeat(99)}\n`
    const long = line.repeat(8_000)
    for (const boundary of [
      WINDOW_LENGTH - WINDOW_OVERLAP,
      WINDOW_LENGTH,
      2 * WINDOW_LENGTH - WINDOW_OVERLAP,
      2 * (WINDOW_LENGTH - WINDOW_OVERLAP),
    ]) {
      const at = Math.floor((boundary - 20) / 100) * 100
      const indent = " ".repeat((boundary - 20) % 100)
      const text = `${long.slice(0, at)}${indent}${secret}\n${long.slice(at)}`
      expect(await found(text)).toEqual([{ id: "x", rule: "telnyx", line: at / 100 + 1, secret }])
    }
  })

  it("is found in the right text when thousands are scanned together", async () => {
    const texts = Array.from({ length: 3_000 }, (_, i) => {
      return {
        id: String(i),
        text: `line\n${i % 1_000 === 7 ? SAMPLE_SECRETS["twilio-key"] : "nothing"}\n`,
      }
    })
    const all = await scan.scan(texts)
    expect(all.map(({ id, line }) => [id, line])).toEqual([
      ["7", 2],
      ["1007", 2],
      ["2007", 2],
    ])
  })
})

describe("a text without a secret", () => {
  it.each([
    `AKIA${"IOSFODNN7EXAMPLE"}`,
    "redis://user:<password>@host redis://user:${PASSWORD}@host redis://localhost:6379",
    `-----BEGIN ${"PUBLIC KEY"}-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----`,
    `-----BEGIN ${"PRIVATE KEY"}-----\n...\n-----END PRIVATE KEY-----`,
    `-----BEGIN ${"PRIVATE KEY"}-----\nyour own key goes here, and nothing else\n-----END`,
    `-----BEGIN ${"RSA PRIVATE KEY"}-----\n# put the lines of the key here and nothing else please\n`,
    ...["secret", "Password", "abc", "aaaaaaaa", "default"].map(
      (word) => `redis://default:${word}@localhost postgres://default:${word}@localhost`,
    ),
    `SKU${"0".repeat(32)} MASK${"a".repeat(32)}`,
    "password=hunter2",
  ])("is accepted: %j", async (text) => {
    expect(await found(text)).toEqual([])
  })
})

describe("a placeholder", () => {
  it.each([
    `ghp_${"x".repeat(36)}`,
    `sk_test_${"x".repeat(24)}`,
    `sk_live_${"X".repeat(24)}`,
    `sk-ant-api03-${"x".repeat(93)}AA`,
    `sk-proj-${"0".repeat(48)}`,
    `npm_${"a".repeat(36)}`,
    `AKIA${"X".repeat(16)}`,
    `AIza${"x".repeat(35)}`,
    `SG.${"x".repeat(22)}.${"y".repeat(43)}`,
    `xoxb-${"0".repeat(12)}-${"0".repeat(13)}-${"x".repeat(24)}`,
    `https://owner:${"x".repeat(12)}@acme.test/path`,
  ])("is accepted: %j", async (text) => {
    expect(await found(`KEY=${text}\n`)).toEqual([])
  })

  it("does not hide a secret next to it; a secret that ends in a repeated character is found", async () => {
    const github = SAMPLE_SECRETS["github"] as string
    expect(await found(`ghp_${"x".repeat(36)}\n${github}\n`)).toMatchObject([{ line: 2 }])
    const repeated = `${github.slice(0, -12)}${"x".repeat(12)}`
    expect(await found(repeated)).toHaveLength(1)
  })
})

describe("windows", () => {
  it("cover every text, whole or in overlapping parts, and map each match to its text and line", () => {
    const sizes = fc.array(
      fc.constantFrom(
        0,
        1,
        100,
        WINDOW_LENGTH - 1,
        WINDOW_LENGTH,
        WINDOW_LENGTH + 1,
        3 * WINDOW_LENGTH,
      ),
      {
        minLength: 1,
        maxLength: 5,
      },
    )
    fc.assert(
      fc.property(sizes, fc.nat(), (lengths, seed) => {
        const texts = lengths.map((length, i) => ({ id: String(i), text: "y".repeat(length) }))
        const chosen = texts[seed % texts.length]
        if (chosen === undefined || chosen.text.length < 4) return
        const at = seed % (chosen.text.length - 3)
        const marked = `${chosen.text.slice(0, at)}KEY${chosen.text.slice(at + 3)}`
        const all = texts.map((one) => (one === chosen ? { ...one, text: marked } : one))
        const windows = [...splitIntoWindows(all)].map((window) => {
          expect(window.text.length).toBeLessThanOrEqual(WINDOW_LENGTH + lengths.length + 1)
          const matches = [...window.text.matchAll(/KEY/g)].map(({ index }) => {
            return { rule: "key", start: index, end: index + 3 }
          })
          return { window, places: matches }
        })
        expect(secretsFromMatches(windows)).toEqual([
          { id: chosen.id, rule: "key", line: 1, secret: "KEY" },
        ])
      }),
      { numRuns: 60 },
    )
  })
})

describe("the regular expressions", () => {
  it("take time linear in a text's length, for any content", () => {
    const parts = [
      "-----BEGIN ",
      "A ",
      "PRIVATE KEY-----",
      `-----BEGIN ${"PRIVATE KEY"}-----`,
      `-----BEGIN ${"PRIVATE KEY"}-----${"\\\\n".repeat(80)}`,
      `-----BEGIN ${"PRIVATE KEY"}-----${"/".repeat(250)}`,
      `-----BEGIN ${"PRIVATE KEY"}-----${"x: \n / ".repeat(60)}`,
      "x: \n",
      "redis://",
      ":",
      "sk-proj-",
      "a",
    ]
    const timeOf = (text: string) => {
      const before = process.cpuUsage().user
      matchSecretPatterns(text)
      return process.cpuUsage().user - before
    }
    for (const part of parts) {
      const text = part.repeat(Math.floor(WINDOW_LENGTH / part.length))
      // One window takes less than a second of CPU time; a quadratic expression would take minutes.
      expect(timeOf(text), part).toBeLessThan(1_000_000)
    }
  })
})

describe("the scanner's thread", () => {
  it("fails its pending scans when it ends, and the next scan starts another thread", async () => {
    const one = openSecretScanner({ pacer: machinePacer })
    const pendingScan = one.scan([{ id: "x", text: "nothing ".repeat(100_000) }])
    const failed = expect(pendingScan).rejects.toThrow(SecretScanFailed)
    await one.close()
    await failed
    expect(await one.scan([{ id: "x", text: SAMPLE_SECRETS["github"] as string }])).toHaveLength(1)
    await one.close()
  })

  it("is ended when it does not answer in time", async () => {
    const pause = async (): Promise<void> => undefined
    const one = openSecretScanner({ pacer: { ...machinePacer, pause } })
    await expect(one.scan([{ id: "x", text: "nothing" }])).rejects.toThrow(SecretScanFailed)
  })
})
