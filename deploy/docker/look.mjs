// Asks the server of this container for a path, and ends with 1 where it does not answer 200. Whoever runs it
// says how long it may take.
const [, , path = "/readyz"] = process.argv
const answer = await fetch(`http://127.0.0.1:${process.env["PORT"] ?? 3000}${path}`)
process.stdout.write(await answer.text())
process.exitCode = answer.ok ? 0 : 1
