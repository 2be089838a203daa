// Checks an export or a proof of company-ledger with nothing but Node 18 or newer: docs/verify.md.
//   node verify.mjs FILE [PUBLIC_KEY]        exit code 0: it holds; 1: the first place that does not
import { createHash, createPublicKey, verify } from "node:crypto"
import { createReadStream, readFileSync } from "node:fs"

const [file, pinned] = process.argv.slice(2)
const NO_HASH = "0".repeat(64)
const HASH_FIELD = /"hash":"([0-9a-f]{64})",/
const hex = (text) => Buffer.from(text, "hex")
const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest()
const fail = (place, expected, found) =>
  process.exit(process.stderr.write(`${place}: expected ${expected}, found ${found}\n`) ? 1 : 1)

// The chain: an event's hash is over the one before it, where it stands, and its stored texts.
function checkEvent(event, previous, place) {
  const { stream, revision, type, id, data, metadata } = event
  const bare = metadata.replace(HASH_FIELD, "")
  const text = [previous, stream, revision, type, id, data, bare].join("\n")
  const expected = sha256(Buffer.from(text)).toString("hex")
  const found = HASH_FIELD.exec(metadata)?.[1]
  if (found !== expected) fail(`${place}, ${stream} revision ${revision}`, expected, found)
  return found
}

// The tree: RFC 6962 over the hashes of the events, 32 bytes each.
const leaf = (hash) => sha256(Buffer.from([0]), hex(hash))
const node = (left, right) => sha256(Buffer.from([1]), left, right)
const addLeaf = (tree, hash) => {
  let root = leaf(hash)
  for (let left = tree.size; left % 2 === 1; left >>= 1) root = node(tree.roots.pop(), root)
  tree.roots.push(root)
  return Object.assign(tree, { size: tree.size + 1 })
}
const rootOf = ({ roots }) => roots.reduceRight((right, left) => node(left, right)).toString("hex")

// The signature: Ed25519 over seven lines.
function checkHead(head, place) {
  const { tree, size, root, position, at, publicKey, signature } = head
  const text = `company-ledger tree head\n1\n${tree}\n${size}\n${root}\n${position}\n${at}\n`
  const der = Buffer.concat([hex("302a300506032b6570032100"), Buffer.from(publicKey, "base64")])
  const key = createPublicKey({ key: der, format: "der", type: "spki" })
  const isSigned = verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"))
  if (!isSigned) fail(place, `a signature by ${publicKey}`, "one that is none")
  if (publicKey !== (pinned ?? publicKey)) fail(place, `the key ${pinned}`, publicKey)
  return publicKey
}

async function* linesOfFile() {
  let rest = ""
  for await (const part of createReadStream(file, "utf8")) {
    const lines = (rest + part).split("\n")
    rest = lines.pop()
    yield* lines
  }
  if (rest !== "") fail("the last line", "its end", "the end of the file: it was cut short")
}

async function checkExport() {
  const [streams, trees, bytes] = [new Map(), new Map(), createHash("sha256")]
  const counts = { events: 0, streams: 0, heads: 0 }
  let [number, company, end, signer] = [0, null, null, ""]
  for await (const line of linesOfFile()) {
    const [place, parsed] = [`line ${(number += 1)}`, JSON.parse(line)]
    if (end !== null) fail(place, "the end of the file", "another line")
    if (parsed.manifest === undefined) bytes.update(`${line}\n`)
    if (number === 1) company = parsed.company
    else if (parsed.stream !== undefined) {
      const { stream, revision, data: last } = parsed
      const tree = stream.split("-")[1] ?? "installation"
      if (company !== null && tree !== company) fail(place, `an event of ${company}`, stream)
      const seen = streams.get(stream) ?? { revision: -1, hash: NO_HASH }
      const next = seen.revision + 1
      if (revision !== next) fail(`${place}, ${stream}`, `revision ${next}`, `revision ${revision}`)
      const hash = checkEvent(parsed, seen.hash, place)
      streams.set(stream, { revision, hash })
      const grown = trees.get(tree) ?? { size: 0, roots: [] }
      trees.set(tree, Object.assign(addLeaf(grown, hash), { last }))
      counts.events += 1
    } else if (parsed.range !== undefined) {
      const { range, first, last, hash } = parsed
      const { revision, hash: found } = streams.get(range) ?? {}
      const isSame = first === 0 && last === revision && hash === found
      if (!isSame) fail(`${place}, ${range}`, `its end ${last}, ${hash}`, `${revision}, ${found}`)
      counts.streams += 1
    } else if (parsed.head !== undefined) {
      const { tree, size, root, at } = parsed.head
      const grown = trees.get(tree) ?? { size: 0, roots: [leaf(NO_HASH)], last: "{}" }
      if (grown.size !== size) fail(place, `${size} events of ${tree}`, grown.size)
      if (rootOf(grown) !== root) fail(place, `the root ${root}`, rootOf(grown))
      if (JSON.parse(grown.last).at !== at) fail(place, `the last event at ${at}`, grown.last)
      signer = checkHead(parsed.head, place)
      counts.heads += 1
    } else end = parsed.manifest ?? fail(place, "a line of an export", line)
  }
  const found = { ...counts, sha256: bytes.digest("hex") }
  if (end === null) fail("the manifest", "one", "the end of the file: it was cut short")
  for (const name in found) if (end[name] !== found[name]) fail(name, end[name], found[name])
  if (counts.streams !== streams.size) fail("the ranges", streams.size, counts.streams)
  if (counts.heads !== trees.size) fail("the heads", trees.size, counts.heads)
  return `${counts.events} events in ${counts.streams} streams hold, signed by ${signer}`
}

// RFC 9162, 2.1.3.2 and 2.1.4.2: walking up from one place, with the subtree before it if wanted.
function walk(index, size, path, start) {
  let [fn, sn, before, after] = [index, size - 1, start, start]
  for (const sibling of path.map(hex)) {
    if (sn === 0) return null
    if (fn % 2 === 1 || fn === sn) {
      before = node(sibling, before)
      after = node(sibling, after)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)]
    } else after = node(after, sibling)
    ;[fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
  }
  return sn === 0 ? { before: before.toString("hex"), after: after.toString("hex") } : null
}

function isGrownFrom(from, head, path) {
  if (from.size === head.size) return path.length === 0 && from.root === head.root
  let [fn, sn] = [from.size - 1, head.size - 1]
  for (; fn % 2 === 1; fn = (fn - 1) / 2) sn = Math.floor(sn / 2)
  const [first, ...rest] = Number.isInteger(Math.log2(from.size)) ? [from.root, ...path] : path
  const found = first === undefined ? null : walk(fn, sn + 1, rest, hex(first))
  return found?.before === from.root && found?.after === head.root
}

function checkProof(proof) {
  const { event, inputs, later, consistency, head, company, chargeId } = proof
  for (const one of [head, ...consistency.map(({ from }) => from)]) {
    if (one.tree !== company) fail("the head", `a tree of ${company}`, one.tree)
    checkHead(one, `the head of ${one.size}`)
  }
  for (const one of [event, ...inputs.events, ...later]) {
    const hash = checkEvent(one, one.previousHash, "the proof")
    const root =
      one.index < head.size && walk(one.index, head.size, one.inclusion, leaf(hash))?.after
    if (root !== head.root) fail(`${one.stream} ${one.revision}`, `the root ${head.root}`, root)
  }
  if (JSON.parse(event.data).chargeId !== chargeId)
    fail("the event", `charge ${chargeId}`, event.data)
  const broken = consistency.find(({ from, path }) => !isGrownFrom(from, head, path))
  if (broken !== undefined) fail("consistency", `growth from ${broken.from.size} events`, "none")
  return `${event.type} of ${chargeId} holds, signed by ${head.publicKey}`
}

const { value: beginning } = await createReadStream(file, "latin1").iterator().next()
const isExport = beginning.startsWith('{"companyLedger":"export"')
const holds = isExport ? await checkExport() : checkProof(JSON.parse(readFileSync(file, "utf8")))
process.stdout.write(`${holds}\n`)
