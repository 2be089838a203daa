// Verifies an export or a proof of company-ledger. It needs only Node 18 or newer. Formats: docs/verify.md.
//   node verify.mjs FILE [PUBLIC_KEY]        exit code 0: valid; 1: the first discrepancy, in one sentence
import { createHash, createPublicKey, verify } from "node:crypto"
import { createReadStream, readFileSync } from "node:fs"
import { isDeepStrictEqual as isSame } from "node:util"
const [file, pinned] = process.argv.slice(2)
let place = file ?? "the arguments"
const hex = (text) => Buffer.from(text, "hex")
const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest()
const fail = (expected, found) =>
  process.exit(process.stderr.write(`${place}: expected ${expected}, found ${found}\n`) ? 1 : 1)
const check = (isSo, expected, found) => isSo || fail(expected, found)
process.on("uncaughtException", ({ message }) => fail("an export or a proof", `none (${message})`))
check(file !== undefined, "FILE [PUBLIC_KEY]", "none")
// Chain: an event's hash covers the previous hash, its stream and revision, and its stored texts.
function checkEvent({ stream, revision, type, id, data, metadata }, previous) {
  const [field, found] = /"hash":"([0-9a-f]{64})",/.exec(metadata) ?? ["", "none"]
  const text = [previous, stream, revision, type, id, data, metadata.replace(field, "")].join("\n")
  const expected = sha256(Buffer.from(text)).toString("hex")
  return check(found === expected, `the hash ${expected} of ${stream} ${revision}`, found) && found
}
// Tree: RFC 6962 over the hashes of the events, 32 bytes each.
const leaf = (hash) => sha256(Buffer.from([0]), hex(hash))
const node = (left, right) => sha256(Buffer.from([1]), left, right)
const addLeaf = (tree, hash, last) => {
  let root = leaf(hash)
  for (let left = tree.size++; left % 2 === 1; left >>= 1) root = node(tree.roots.pop(), root)
  tree.roots.push(root)
  return Object.assign(tree, { last })
}
const rootOf = ({ roots }) => roots.reduceRight((right, left) => node(left, right)).toString("hex")
// Signature: Ed25519 over seven lines.
function checkHead({ tree, size, root, position, at, publicKey, signature }) {
  const text = `company-ledger tree head\n1\n${tree}\n${size}\n${root}\n${position}\n${at}\n`
  const der = Buffer.concat([hex("302a300506032b6570032100"), Buffer.from(publicKey, "base64")])
  const key = createPublicKey({ key: der, format: "der", type: "spki" })
  check(verify(null, Buffer.from(text), key, Buffer.from(signature, "base64")), "a signature", "no")
  return check(publicKey === (pinned ?? publicKey), `the key ${pinned}`, publicKey) && publicKey
}
async function* linesOfFile() {
  let rest = ""
  for await (const part of createReadStream(file, "utf8")) {
    const lines = (rest + part).split("\n")
    rest = lines.pop()
    yield* lines
  }
  check(rest === "", "the end of the last line", "a truncated file")
}
async function checkExport() {
  const [streams, trees, bytes] = [new Map(), new Map(), createHash("sha256")]
  const counts = { events: 0, streams: 0, heads: 0 }
  let [number, company, end, signer] = [0, null, null, ""]
  for await (const line of linesOfFile()) {
    place = `line ${(number += 1)}`
    const parsed = JSON.parse(line)
    check(end === null, "the end of the file", "another line")
    if (parsed.manifest === undefined) bytes.update(`${line}\n`)
    if (number === 1) company = check(parsed.form === 1, "form 1", parsed.form) && parsed.company
    else if (parsed.stream !== undefined) {
      const { stream, revision, data } = parsed
      const name = stream.split("-")[1] ?? "installation"
      check([null, name].includes(company), `an event of ${company}`, stream)
      const seen = streams.get(stream) ?? { revision: -1, hash: "0".repeat(64) }
      check(revision === seen.revision + 1, `${stream} revision ${seen.revision + 1}`, revision)
      const hash = checkEvent(parsed, seen.hash)
      counts.events += streams.set(stream, { revision, hash }) ? 1 : 0
      trees.set(name, addLeaf(trees.get(name) ?? { size: 0, roots: [] }, hash, data))
    } else if (parsed.range !== undefined) {
      const { revision, hash } = streams.get(parsed.range) ?? {}
      const is = JSON.stringify({ range: parsed.range, first: 0, last: revision, hash })
      counts.streams += check(line === is, is, line) ? 1 : 0
    } else if (parsed.head !== undefined) {
      const { tree, size, root, at } = parsed.head
      const grown = trees.get(tree) ?? fail(`events of ${tree}`, "none")
      counts.heads += check(grown.size === size, `${size} events of ${tree}`, grown.size) ? 1 : 0
      check(rootOf(grown) === root, `the root ${root}`, rootOf(grown))
      check(JSON.parse(grown.last).at === at, `the last event at ${at}`, grown.last)
      signer = checkHead(parsed.head)
    } else end = parsed.manifest ?? fail("a line of an export", line)
  }
  const is = { ...counts, sha256: bytes.digest("hex") }
  check(counts.streams === streams.size && counts.heads === trees.size, "all ends", "others")
  check(isSame(end, is), `the manifest ${JSON.stringify(is)}`, JSON.stringify(end))
  process.stdout.write(`${counts.events} events hold, signed by ${signer}\n`)
}
// RFC 6962, 2.1.1 and 2.1.2, from the root down: the last element of a path is the topmost sibling.
function rootBy(path, index, n, hash) {
  if (n === 1) return path.length === 0 ? leaf(hash) : fail("a shorter path", "a longer one")
  const [k, rest, top] = [2 ** (Math.ceil(Math.log2(n)) - 1), path.slice(0, -1), hex(path.at(-1))]
  if (index < k) return node(rootBy(rest, index, k, hash), top)
  return node(top, rootBy(rest, index - k, n - k, hash))
}
function rootsBy(path, former, n, root) {
  const [end, ...more] = root === null ? path : [root, ...path]
  if (former === n) return more.length === 0 ? [hex(end), hex(end)] : fail("its end", "more")
  const [k, rest, top] = [2 ** (Math.ceil(Math.log2(n)) - 1), path.slice(0, -1), hex(path.at(-1))]
  if (former > k) return rootsBy(rest, former - k, n - k, null).map((one) => node(top, one))
  const [before, after] = rootsBy(rest, former, k, root)
  return [before, node(after, top)]
}
// Inputs of a decision: a refusal contains them; for a charge, earlier facts contain them.
const read = (name, value) => {
  if (typeof value !== "string" || !/(Micros|At|Start)$/.test(name)) return value
  return name.endsWith("Micros") ? Number(value) : Date.parse(value)
}
const pick = (from, names) => JSON.stringify(names.map((name) => from[name] ?? null))
function checkInputs(event, inputs) {
  const fact = JSON.parse(event.data, read)
  if (event.type === "ChargeRefused") {
    const { ledgerRevision, fundsMicros, creditLineMicros, prepaidOnly } = fact
    const limits = fact.limits.map((one) => ({ holderId: null, unrecordedMicros: 0, ...one }))
    const own = { ledgerRevision, fundsMicros, creditLineMicros, prepaidOnly, limits, events: [] }
    const is = { ...own, locked: fact.code === "account_locked" }
    return check(isSame(inputs, is), JSON.stringify(is), JSON.stringify(inputs))
  }
  const left = (one) => (fact.isAlreadyCounted ? Infinity : one.amountMicros - one.usedMicros)
  const isExempt = fact.exemption === "funds" || (fact.exemption && inputs.fundsMicros > 0)
  const funds = isExempt ? Infinity : inputs.fundsMicros + inputs.creditLineMicros
  const isFree = fact.amountMicros <= Math.min(funds, ...inputs.limits.map(left))
  check(inputs.locked === false && isFree, "inputs that let it pass", JSON.stringify(inputs))
  const facts = inputs.events.map((one) => ({ ...one, ...JSON.parse(one.data, read) }))
  const last = facts.find(({ revision }) => revision === event.revision - 1)
  check(last?.metadata.includes(event.previousHash), "the fact before it in inputs.events", "none")
  const names = ["stream", "holder", "holderId", "class", "period", "amountMicros"]
  const set = facts.filter(({ type }) => type === "LimitSet").map((one) => pick(one, names))
  for (const limit of inputs.limits.map((one) => pick({ stream: event.stream, ...one }, names)))
    check(set.includes(limit), `a fact in inputs.events that set ${limit}`, "none")
}
function checkProof({ companyLedger, form, company, chargeId, head, event, ...proof }) {
  check(companyLedger === "proof" && form === 1, "a proof of form 1", `form ${form}`)
  for (const one of [head, ...proof.consistency.map(({ from }) => from)])
    if (check(one?.tree === company, `a head of ${company}`, one?.tree)) checkHead(one)
  for (const one of [event, ...proof.inputs.events, ...proof.later]) {
    const hash = checkEvent(one, one.previousHash)
    check(one.inclusion && one.index < head.size, `inclusion of ${one.id}`, "none")
    const root = rootBy(one.inclusion, one.index, head.size, hash).toString("hex")
    check(root === head.root, `the root ${head.root}`, root)
  }
  check(JSON.parse(event.data).chargeId === chargeId, `charge ${chargeId}`, event.data)
  checkInputs(event, proof.inputs)
  for (const { from, path } of proof.consistency) {
    const roots = rootsBy(path, from.size, head.size, from.root).map((one) => one.toString("hex"))
    check(isSame(roots, [from.root, head.root]), `growth from ${from.size} events`, "none")
  }
  const stated = "Stated, not proven: the amounts of the inputs, and that no other fact applies."
  process.stdout.write(`${event.type} of ${chargeId} holds, by ${head.publicKey}\n${stated}\n`)
}
const { value: beginning = "" } = await createReadStream(file, "latin1").iterator().next()
if (beginning.startsWith('{"companyLedger":"export"')) await checkExport()
else checkProof(JSON.parse(readFileSync(file, "utf8")))
