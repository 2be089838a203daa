/** What somebody may change in a proof, which the checks have to find. */

// A test says what it changes; the type would only repeat the form of a proof.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any
/** Changes what a proof parses to. */
export const changed = (change: (parsed: Any) => void) => (proof: string) => {
  const parsed = JSON.parse(proof)
  change(parsed)
  return JSON.stringify(parsed)
}
const flipped = (hash: string) => (hash.startsWith("0") ? "1" : "0") + hash.slice(1)

/** What is planted in the proof of a charge. */
export const IN_PROOFS: Readonly<Record<string, (proof: string) => string>> = {
  "one byte of the event": changed(({ event }) => {
    event.data = event.data.replace('"1000000"', '"1000001"')
  }),
  "another charge's name": changed((all) => {
    all.chargeId = "a"
  }),
  "another hash before it": changed(({ event }) => {
    event.previousHash = flipped(event.previousHash)
  }),
  "another place in the tree": changed(({ event }) => {
    event.index -= 1
  }),
  "a place beyond the tree": changed(({ event, head }) => {
    event.index = head.size
  }),
  "another path": changed(({ event }) => {
    event.inclusion[1] = flipped(event.inclusion[1])
  }),
  "a shorter path": changed(({ event }) => {
    event.inclusion.pop()
  }),
  "an input of elsewhere": changed(({ inputs }) => {
    inputs.events[0].data = inputs.events[0].data.replace("0", "1")
  }),
  "another root": changed(({ head }) => {
    head.root = flipped(head.root)
  }),
  "another signature": changed(({ head }) => {
    const { signature } = head
    head.signature = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`
  }),
  "a former head that was never signed": changed(({ consistency }) => {
    consistency[0].from.root = flipped(consistency[0].from.root)
  }),
  "another way from a former head": changed(({ consistency }) => {
    const { path } = consistency[0]
    path[0] = flipped(path[0])
  }),
  "another company": changed((all) => {
    all.company = "co_x"
  }),
  "a limit that no fact set": changed(({ inputs }) => {
    inputs.limits[0].amountMicros += 1
  }),
  "a limit too many": changed(({ inputs }) => {
    inputs.limits.push({ ...inputs.limits[0], holder: "key", holderId: "key_x" })
  }),
  "a limit that was used up": changed(({ inputs }) => {
    inputs.limits[0].usedMicros = inputs.limits[0].amountMicros
    inputs.limits[0].remainingMicros = 0
  }),
  "a lock that would have refused it": changed(({ inputs }) => {
    inputs.locked = true
  }),
  "no word of a lock": changed(({ inputs }) => {
    delete inputs.locked
  }),
  "funds that would not have paid for it": changed(({ inputs }) => {
    inputs.fundsMicros = 1
  }),
  "no events it was decided from": changed(({ inputs }) => {
    inputs.events = []
  }),
  "no fact before it": changed(({ inputs }) => {
    inputs.events.pop()
  }),
  "another form": changed((all) => {
    all.form = 2
  }),
}

/** What is planted in the proof of a refusal. */
export const IN_REFUSALS: Readonly<Record<string, (proof: string) => string>> = {
  "other funds": changed(({ inputs }) => {
    inputs.fundsMicros += 1
  }),
  "another sum that was used": changed(({ inputs }) => {
    inputs.limits[0].usedMicros -= 1
  }),
  "no limits": changed(({ inputs }) => {
    inputs.limits = []
  }),
  "that it was locked": changed(({ inputs }) => {
    inputs.locked = true
  }),
}
